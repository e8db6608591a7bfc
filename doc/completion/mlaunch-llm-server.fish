# SPDX-License-Identifier: MIT
# fish completion for mlaunch-llm-server, made by doc/completion/generate-llm

complete -c mlaunch-llm-server -n 'not contains -- -- (commandline -opc)' -f
complete -c mlaunch-llm-server -n 'test (count (commandline -opc)) -eq 1' -a start -d 'start the server'
complete -c mlaunch-llm-server -n 'test (count (commandline -opc)) -eq 1' -a stop -d 'end it'
complete -c mlaunch-llm-server -n 'test (count (commandline -opc)) -eq 1' -a restart -d 'start it again with the options of the last start'
complete -c mlaunch-llm-server -n 'test (count (commandline -opc)) -eq 1' -a status -d 'show its job and its health'
complete -c mlaunch-llm-server -n 'test (count (commandline -opc)) -eq 1' -a health -d 'show its health'
complete -c mlaunch-llm-server -n 'test (count (commandline -opc)) -eq 1' -a logs -d 'print what it has said'
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] logs' -s f -d 'also print what is added'

function __mlaunch_llm_server_start
    complete -C "mlaunch "(string join ' ' -- (commandline -opc)[3..] (commandline -ct))
end
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and not contains -- -- (commandline -opc)' -a '-- (__mlaunch_llm_server_start)'

complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and contains -- -- (commandline -opc)' -a '--model' -d 'the model, a GGUF file, at the same path on every host'
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and contains -- -- (commandline -opc)' -a '--host' -d 'where rank 0 listens'
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and contains -- -- (commandline -opc)' -a '--port' -d 'the port of it'
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and contains -- -- (commandline -opc)' -a '--api-key-file' -d 'a file with keys, one a line'
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and contains -- -- (commandline -opc)' -a '--queue' -d 'how many requests may wait for a slot'
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and contains -- -- (commandline -opc)' -a '--slots' -d 'how many requests are answered at a time'
complete -c mlaunch-llm-server -n 'contains -- (commandline -opc; echo none)[2] start; and contains -- -- (commandline -opc)' -a '--context' -d 'tokens of prompt and answer together'
