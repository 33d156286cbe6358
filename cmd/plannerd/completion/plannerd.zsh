#compdef plannerd
# Completion of plannerd in zsh. Put it into a folder of fpath as _plannerd, or source it.
_plannerd() {
	local line
	local -a lines candidates
	lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ ${lines[1]} == ':files' ]]; then
		_files
		return
	fi
	for line in $lines; do
		candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	_describe 'plannerd' candidates
}
if [[ ${funcstack[1]} == _plannerd ]]; then
	_plannerd "$@"
else
	compdef _plannerd plannerd
fi
