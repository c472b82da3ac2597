import { Argument, type Command } from 'commander';
import { createContext } from '../context.js';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
    .summary('print a completion script for the shell')
    .description('Prints a completion script. Use: source <(egs completion bash)')
    .action((shell: string, _options: object, command: Command) => {
      const script = renderBash(program);
      const text = shell === 'zsh' ? `autoload -U +X bashcompinit && bashcompinit\n${script}` : script;
      createContext(command).output.result({ shell, script: text }, text);
    });
}

/** Words that may follow each command path, as cases of a shell function. */
function renderBash(program: Command): string {
  const cases: string[] = [];
  const visit = (command: Command, path: string): void => {
    const help = command.createHelp();
    const commands = help.visibleCommands(command).filter((each) => each.name() !== 'help');
    const options = help.visibleOptions(command).flatMap((option) => option.long ?? []);
    const inherited = program.options.flatMap((option) => option.long ?? []);
    const words = [...commands.map((each) => each.name()), ...new Set([...options, ...inherited])];
    cases.push(`    '${path}') words='${words.join(' ')}' ;;`);
    for (const each of commands) visit(each, `${path} ${each.name()}`.trim());
  };
  visit(program, '');
  return `_egs() {
  local path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case $path in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _egs egs ./egs
`;
}
