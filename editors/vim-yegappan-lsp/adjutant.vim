" Adjutant through yegappan/lsp, in Vim 9.0 and newer. Not tried: written by that
" plugin's documentation. Source this file in your vimrc, after the plugin.
"
"   :LspCodeAction      gives tasks, and has the answers to what Adjutant asks
"   :AdjutantCancel     stops it; or take Cancel among the code actions
"
" What it asks stands where the plugin shows problems, at the line that would change.

call LspAddServer([{
\   'name': 'adjutant',
\   'filetype': ['c', 'cpp', 'go', 'java', 'javascript', 'markdown', 'python', 'rust', 'sh', 'typescript', 'vim'],
\   'path': exepath('adjutant'),
\   'args': ['lsp'],
\   'rootSearch': ['.git/'],
\ }])

command! AdjutantCancel LspExecuteCommand adjutant.cancel
