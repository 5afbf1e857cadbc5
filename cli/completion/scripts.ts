/**
 * What a shell runs to complete a command line: `tidemill __complete` with the words so far prints a candidate a line, with a
 * tab and its description behind it. So the scripts know no command, and never have to be installed again.
 */
export const scripts = {
	bash: `# bash completion for tidemill. In ~/.bashrc: source <(tidemill completion bash)
_tidemill() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(tidemill __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _tidemill tidemill
`,
	zsh: `#compdef tidemill
# zsh completion for tidemill. In ~/.zshrc, after compinit: source <(tidemill completion zsh)
_tidemill() {
  local -a candidates
  local line
  for line in "\${(@f)$(tidemill __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#candidates} )) && _describe tidemill candidates || _files
}
compdef _tidemill tidemill
`,
	fish: `# fish completion for tidemill: tidemill completion fish > ~/.config/fish/completions/tidemill.fish
function __tidemill_complete
  set -l words (commandline -opc) (commandline -ct)
  tidemill __complete $words[2..] 2>/dev/null
end
complete -c tidemill -f -a '(__tidemill_complete)'
`,
} as const;
