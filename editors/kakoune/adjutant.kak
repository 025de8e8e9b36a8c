# Adjutant through kak-lsp: source this file in your kakrc, after `lsp-enable`.
# It runs beside the servers that a buffer has, in each buffer with a filetype.
#
#   :adjutant TEXT      gives it a task about the selected lines
#   :adjutant-answer    shows the question that waits, with its answers
#   :lsp-code-actions   offers the rest, and has the answers, too
#   :adjutant-cancel    stops it

hook -group adjutant global BufSetOption filetype=.+ %{
    evaluate-commands %sh{
        case "$kak_opt_lsp_servers" in *'[adjutant]'*) exit ;; esac
        printf '%s\n' 'set-option -add buffer lsp_servers %{
            [adjutant]
            args = ["lsp"]
            root_globs = [".git", ".hg"]
            settings_section = "adjutant"
            # The box of a question shows so many lines of a change whole.
            [adjutant.settings.adjutant]
            asks.popup_lines = 12
        }'
    }
}

define-command adjutant -params 1.. -docstring "adjutant <task>: give Adjutant a task about the selected lines" %{
    evaluate-commands %sh{
        text=$(printf %s "$*" | tr '\n\t' '  ' | sed 's/\\/\\\\/g; s/"/\\"/g')
        uri=$(printf %s "$kak_buffile" | sed 's/%/%25/g; s/ /%20/g; s/#/%23/g; s/?/%3F/g; s/"/%22/g; s/\\/%5C/g')
        from=${kak_selection_desc%%.*}
        to=${kak_selection_desc#*,}; to=${to%%.*}
        [ "$from" -le "$to" ] || { line=$from; from=$to; to=$line; }
        range="{\"start\": {\"line\": $((from - 1)), \"character\": 0}, \"end\": {\"line\": $to, \"character\": 0}}"
        arguments="[{\"text\": \"$text\", \"uri\": \"file://$uri\", \"range\": $range}]"
        printf "lsp-execute-command adjutant.start '%s' adjutant\n" "$(printf %s "$arguments" | sed "s/'/''/g")"
    }
}

define-command adjutant-cancel -docstring "stop what Adjutant does" %{
    lsp-execute-command adjutant.cancel '[]' adjutant
}

define-command adjutant-answer -docstring "show the question of Adjutant that waits" %{
    lsp-show-message-request-next
}

# kak-lsp holds a question back until it is asked for, so that no menu opens while
# one types. These lines say in the status line that one waits, and what goes on.
define-command -hidden -override lsp-handle-progress -params 6 %{
    set-option global lsp_modeline_progress %sh{ [ "$6" = true ] || printf %s "$2${4:+: $4} " }
}
set-option global modelinefmt "%%opt{lsp_modeline_message_requests} %%opt{lsp_modeline_progress}%opt{modelinefmt}"
