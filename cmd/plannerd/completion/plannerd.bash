# Completion of plannerd in bash. Source it, or put it into /etc/bash_completion.d.
_plannerd() {
	local word description
	COMPREPLY=()
	while IFS=$'\t' read -r word description; do
		if [[ $word == ':files' ]]; then
			compopt -o default 2>/dev/null
			return
		fi
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _plannerd plannerd
