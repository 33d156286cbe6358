# Completion of plannerd in fish. Put it into ~/.config/fish/completions as plannerd.fish.
function __plannerd_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
	if test "$lines[1]" = ':files'
		__fish_complete_path (commandline -ct)
	else
		printf '%s\n' $lines
	end
end
complete -c plannerd -f -a '(__plannerd_complete)'
