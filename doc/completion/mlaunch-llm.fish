# SPDX-License-Identifier: MIT
# fish completion for mlaunch-llm, made by doc/completion/generate-llm

complete -c mlaunch-llm -n 'test (count (commandline -opc)) -eq 1' -f
complete -c mlaunch-llm -n 'test (count (commandline -opc)) -eq 1' -a bench -d 'how fast the model answers here'
complete -c mlaunch-llm -n 'test (count (commandline -opc)) -eq 1' -a generate -d 'continue a text'
complete -c mlaunch-llm -n 'test (count (commandline -opc)) -eq 1' -a serve -d 'answer over HTTP, as OpenAI\'s servers do'

complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] bench' -l model -r -F -d 'the model, a GGUF file, at the same path on every host'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] bench' -l prompt-size -x -d 'tokens that the measured prompt has'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] bench' -l tokens -x -d 'how many tokens to generate at most'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] bench' -l context -x -d 'positions to keep'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] bench' -l json -d 'print one JSON object'

complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l model -r -F -d 'the model, a GGUF file, at the same path on every host'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l prompt -x -d 'the text to continue'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l prompt-file -r -F -d 'a file with the text to continue'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l prompt-tokens -x -d 'the tokens to continue'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l tokens -x -d 'how many tokens to generate at most'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l temperature -x -d 'how freely tokens are drawn'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l top-k -x -d 'draw from the N likeliest'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l top-p -x -d 'draw from the likeliest that have probability X together'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l seed -x -d 'where random numbers begin'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l context -x -d 'positions to keep'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l score -d 'only say what the model expects after each token of the prompt'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] generate' -l json -d 'print one JSON object'

complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] serve' -l model -r -F -d 'the model, a GGUF file, at the same path on every host'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] serve' -l host -x -d 'where rank 0 listens'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] serve' -l port -x -d 'the port of it'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] serve' -l api-key-file -r -F -d 'a file with keys, one a line'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] serve' -l queue -x -d 'how many requests may wait for a slot'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] serve' -l slots -x -d 'how many requests are answered at a time'
complete -c mlaunch-llm -n 'contains -- (commandline -opc; echo none)[2] serve' -l context -x -d 'tokens of prompt and answer together'
