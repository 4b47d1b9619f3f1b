# Completion of `stele` for bash.
_stele()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local options="-c --command -f --file -v --set --variable -d --readonly --durable -A --no-align -t --tuples-only -x --expanded"
    options+=" -H --html --csv --json --markdown -P --pset -F --field-separator -R --record-separator --nullvalue"
    options+=" -o --output -1 --single-transaction -a --echo-all -e --echo-queries -b --echo-errors -l --list"
    options+=" --timing --threads --memory-limit -q --quiet -V --version -h --help"
    local dump="-o --file -d --directory -j --jobs -s --schema-only -a --data-only -t --table --inserts --roles -O --no-owner -x --no-privileges -c --clean --if-exists --memory-limit --help"
    local IFS=$' \t\n'
    COMPREPLY=()
    case $command in
    dump)
        case $prev in
        -o | --file) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        -t | --table | -j | --jobs | --memory-limit) return ;;
        esac
        options=$dump ;;
    restore)
        case $prev in
        -j | --jobs | --memory-limit) return ;;
        esac
        compopt -o filenames
        [[ $cur != -* ]] && COMPREPLY=($(compgen -f -- "$cur")) && return
        options="-j --jobs --memory-limit --help" ;;
    check) options="-q --quiet --json --help" ;;
    log)
        case $prev in
        --from | --limit) return ;;
        esac
        options="--from --limit -v --verbose --json --help" ;;
    devices) return ;;
    calibrate) options="--quick" ;;
    doctor) options="--json --disk --help" ;;
    *)
        case $prev in
        -f | --file | -o | --output) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        -v | --set | --variable) COMPREPLY=($(compgen -W "ON_ERROR_STOP=1" -- "$cur")); return ;;
        -c | --command | -P | --pset | -F | --field-separator | -R | --record-separator) return ;;
        --nullvalue | --threads | --memory-limit) return ;;
        esac
        [ "$COMP_CWORD" = 1 ] && [[ $cur != -* ]] && COMPREPLY=($(compgen -W "dump restore check log devices calibrate doctor" -- "$cur")) ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [ "$command" != calibrate ] && [ "$command" != doctor ]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\n'
        COMPREPLY+=($(compgen -d -- "$cur"))
    fi
}
complete -F _stele stele
