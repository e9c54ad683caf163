# SPDX-License-Identifier: MIT
# Completion of loupe for bash.

_loupe_jobs() {
    loupe ps --json 2>/dev/null | grep -o '"job": *"[^"]*"' | sed 's/.*"\([^"]*\)"$/\1/'
}

_loupe() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} options=
    local i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "run exec cc c++ report top attach probe graph ps collect ctl doctor help --help --version" \
            -- "$cur"))
        return
    fi
    # Behind the program's name everything is the program's.
    if [[ $command == run || $command == exec || $command == cc || $command == c++ ]]; then
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            -o | --output | --peers | --grace | --top | --budget | --dynamic | --items | --path-interval | --job | -j | --filter) ((i++)) ;;
            --)
                ((i++))
                break
                ;;
            -*) ;;
            *) break ;;
            esac
        done
        if ((i < COMP_CWORD)) || [[ $cur != -* && ${COMP_WORDS[i]} == "$cur" ]]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset "$i"
            else
                COMPREPLY=($(compgen -c -f -- "$cur"))
            fi
            return
        fi
    fi
    case $prev in
    -o | --output | --filter)
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    --by)
        COMPREPLY=($(compgen -W "summary program procedure loop call communication rank peer" -- "$cur"))
        return
        ;;
    -j | --job)
        COMPREPLY=($(compgen -W "$(_loupe_jobs)" -- "$cur"))
        return
        ;;
    --file | -f)
        [[ $command == probe ]] && COMPREPLY=($(compgen -f -- "$cur")) && return
        ;;
    --source)
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    --peers | --budget | --dynamic | --items | --path-interval | --grace | --top | --at | --interval | -i | --every | --for | --wait | --list | --procedure) return ;;
    esac
    case $command in
    cc | c++) options="--all --filter --no-debug" ;;
    run) options="--output --force --quiet --peers --budget --dynamic --critical-path --items --path-interval --no-compensation --local-compensation --no-headers --grace --top" ;;
    exec) options="--job --alike --output --force --quiet --peers --budget --dynamic --critical-path --items --path-interval --no-compensation --local-compensation --no-headers --grace --top" ;;
    report) options="--by --waits --at --source --critical-path --top --json --full --color --no-color" ;;
    top) options="--once --json --by --waits --at --source --critical-path --full --interval --top --color --no-color" ;;
    attach) options="--for --wait --output --force --quiet --peers --budget --dynamic --critical-path --items --path-interval --no-compensation --local-compensation --no-headers --top" ;;
    probe) options="--file --every --for --json --list --dry-run" ;;
    graph) options="--json --procedure --source --machine --all" ;;
    ps | doctor) options="--json" ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options --help --verbose" -- "$cur"))
        return
    fi
    case $command in
    report) COMPREPLY=($(compgen -f -X '!*.loupe' -- "$cur") $(compgen -d -- "$cur")) ;;
    graph) COMPREPLY=($(compgen -f -- "$cur")) ;;
    top | collect | attach | probe) COMPREPLY=($(compgen -W "$(_loupe_jobs)" -- "$cur")) ;;
    ctl)
        case $COMP_CWORD in
        2) COMPREPLY=($(compgen -W "$(_loupe_jobs)" -- "$cur")) ;;
        3) COMPREPLY=($(compgen -W "measurement critical-path budget" -- "$cur")) ;;
        4)
            local how="on off reset"
            [[ ${COMP_WORDS[3]} == budget ]] && how="off 1% 5% 10%"
            COMPREPLY=($(compgen -W "$how" -- "$cur"))
            ;;
        esac
        ;;
    help) COMPREPLY=($(compgen -W "run exec cc c++ report top attach probe graph ps collect ctl doctor" -- "$cur")) ;;
    esac
}
complete -o filenames -F _loupe loupe
