" Adjutant through ALE 4, in Vim 8.2 and newer: source this file in your vimrc.
" ALE runs it beside the linters of a file, whatever its type.
"
"   :Adjutant TEXT      gives it a task, with the lines of a range if there is one
"   :ALECodeAction      offers the rest, and has the answers to what it asks
"   :AdjutantCancel     stops it
"
" What it asks is a problem at its line; ALE knows no questions of servers.

if exists('g:loaded_adjutant_ale') | finish | endif
let g:loaded_adjutant_ale = 1

" The folder of the project, else that of the file.
function! s:Root(buffer) abort
  let l:git = ale#path#FindNearestDirectory(a:buffer, '.git')
  return empty(l:git) ? expand('#' . a:buffer . ':p:h') : fnamemodify(l:git, ':p:h:h')
endfunction

let s:linter = {
\   'name': 'adjutant',
\   'lsp': 'stdio',
\   'executable': 'adjutant',
\   'command': '%e lsp',
\   'project_root': function('s:Root'),
\   'initialization_options': {'asks': {'popup': 'never', 'popup_lines': 12}},
\}

" Puts Adjutant behind the linters that a type of files has.
function! s:Add(filetype) abort
  if empty(a:filetype) || !empty(&buftype) | return | endif
  let g:ale_linters = get(g:, 'ale_linters', {})
  let l:names = map(copy(ale#linter#Get(a:filetype)), 'v:val.name')
  if index(l:names, 'adjutant') >= 0 | return | endif
  call ale#linter#Define(a:filetype, copy(s:linter))
  let g:ale_linters[a:filetype] = l:names + ['adjutant']
endfunction

augroup adjutant
  autocmd!
  autocmd FileType * call s:Add(expand('<amatch>'))
augroup END

" ALE makes the edits that a server sends, and says so only with the next key: it is said here.
function! s:Tell(connection, ...) abort
  for l:buffer in getbufinfo({'bufloaded': 1})
    call ale#lsp#NotifyForChanges(a:connection, l:buffer.bufnr)
  endfor
endfunction

function! s:Heard(connection, message) abort
  if get(a:message, 'method', '') is# 'workspace/applyEdit'
    call timer_start(0, function('s:Tell', [a:connection]))
  endif
endfunction

function! s:Send(message, linter, details) abort
  let l:id = a:details.connection_id
  call ale#lsp#RegisterCallback(l:id, function('ale#codefix#HandleLSPResponse'))
  call ale#lsp#RegisterCallback(l:id, function('s:Heard'))
  call ale#lsp#NotifyForChanges(l:id, a:details.buffer)
  call ale#lsp#Send(l:id, a:message)
endfunction

function! s:Execute(command, arguments) abort
  let l:found = filter(copy(ale#linter#GetAll(split(&filetype, '\.'))), 'v:val.name is# "adjutant"')
  if empty(l:found) | echoerr 'Adjutant works in files with a type: set ''filetype''' | return | endif
  let l:message = ale#lsp#message#ExecuteCommand(a:command, a:arguments)
  call ale#lsp_linter#StartLSP(bufnr(''), l:found[0], function('s:Send', [l:message]))
endfunction

function! s:Start(text, lines, first, last) abort
  let l:from = {'line': a:first - 1, 'character': 0}
  let l:to = a:lines ? {'line': a:last, 'character': 0} : l:from
  call s:Execute('adjutant.start', [{
  \   'text': a:text,
  \   'uri': ale#util#ToURI(expand('%:p')),
  \   'range': {'start': l:from, 'end': l:to},
  \}])
endfunction

command! -nargs=+ -range Adjutant call s:Start(<q-args>, <range>, <line1>, <line2>)
command! AdjutantCancel call s:Execute('adjutant.cancel', [])
