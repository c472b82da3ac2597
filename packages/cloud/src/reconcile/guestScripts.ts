import { randomBytes } from 'node:crypto';
import { isRunErrorCode, type RunErrorCode } from '../domain/invocation.js';
import type { ExecRequest } from '../drivers/compute/driver.js';

/** Variable by which everything that an invocation started is found again; children inherit it. */
const markName = 'EGS_INVOCATION';

/** Name of these scripts among the guest's processes, and to the fake engine. */
const programName = 'cloud-assistant';

/**
 * Runs a script as the provider's own agent does: as a file, so that `#!` works, and that `pkill -f` of a
 * word in it does not hit the script itself. All in one call of the engine, since those are what the time
 * to the first command is made of.
 *
 * What stands in the way of the script is told by a last line of a token, which only this run knows, and
 * a code. Arguments: token, invocation id, user, directory (empty: the user's home).
 */
const runScript = `
token=$1 file=/var/lib/cloud-assistant/$2.sh user=$3 directory=$4
fail() { echo "$token $1" >&2; exit 1; }
home=/root
if [ "$user" != root ]; then
  entry=$(getent passwd -- "$user") || fail AccountNotExists
  user=\${entry%%:*}
  home=\${entry%:*}
  home=\${home##*:}
fi
cd -- "\${directory:-$home}" 2>/dev/null || fail DirectoryNotExists
[ -d "\${file%/*}" ] || mkdir -p -m 711 "\${file%/*}" || fail ExecutionException
cat >"$file" && chmod 755 "$file" || fail ExecutionException
export HOME="$home" USER="$user" LOGNAME="$user"
if [ "$user" = root ]; then
  "$file" </dev/null
else
  runuser -u "$user" -- /bin/sh -c "$file" </dev/null
fi
code=$?
rm -f "$file"
exit $code`;

/**
 * Puts a file down: beside its place first and then moved there, so that nobody ever sees half of it.
 * Arguments: token, directory, name, owner, group, mode, `true` to overwrite.
 */
const putFile = `
token=$1 directory=$2 file=$2/$3 owner=$4 group=$5 mode=$6 overwrite=$7
fail() { echo "$token $1" >&2; exit 1; }
getent passwd -- "$owner" >/dev/null || fail AccountNotExists
getent group -- "$group" >/dev/null || fail UserGroupNotExists
mkdir -p -- "$directory" || fail FileCreateFail
[ ! -d "$file" ] || fail FileAlreadyExists
[ "$overwrite" = true ] || [ ! -e "$file" ] || fail FileAlreadyExists
part=$(mktemp -- "$directory/.cloud-assistant-XXXXXX") || fail FileCreateFail
cat >"$part" && chown -- "$owner:$group" "$part" && chmod -- "$mode" "$part" && mv -f -- "$part" "$file" && exit 0
rm -f -- "$part"
fail FileCreateFail`;

/**
 * Kills what an invocation left running, again until there is nothing: a process may have forked since
 * the look. Argument: invocation id.
 */
const killLeftovers = `
tries=0
while files=$(grep -lzx "${markName}=$1" /proc/[0-9]*/environ 2>/dev/null); [ -n "$files" ]; do
  [ $((tries += 1)) -lt 100 ] || exit 1
  for file in $files; do
    pid=\${file#/proc/}
    kill -9 "\${pid%/environ}" 2>/dev/null
  done
  sleep 0.05
done
rm -f "/var/lib/cloud-assistant/$1.sh"`;

/** A program for the guest, and how to tell its own words from those of the user's script. */
export interface GuestProgram {
  readonly request: Pick<ExecRequest, 'command' | 'environment' | 'stdin'>;
  /** What kept the user's script from starting, by all that came out; `undefined` when nothing did. */
  findFailure(output: Buffer): { readonly code: RunErrorCode; readonly detail: string } | undefined;
}

function createProgram(
  script: string,
  kind: string,
  invocationId: string,
  stdin: Uint8Array,
  values: readonly string[],
): GuestProgram {
  const token = randomBytes(12).toString('hex');
  const lastLine = new RegExp(`^(?<detail>[^]*)${token} (?<code>\\w+)\\n$`);
  return {
    request: {
      command: ['/bin/sh', '-c', script, `${programName}-${kind}`, token, ...values],
      environment: { [markName]: invocationId },
      stdin,
    },
    findFailure(output) {
      const { code = '', detail = '' } = lastLine.exec(output.toString())?.groups ?? {};
      return isRunErrorCode(code) ? { code, detail: detail.trim() } : undefined;
    },
  };
}

/** The program that runs a script. Without a directory it runs in the user's home. */
export function createCommandProgram(
  invocationId: string,
  content: Uint8Array,
  userName: string,
  workingDirectory: string | undefined,
): GuestProgram {
  const values = [invocationId, userName, workingDirectory ?? ''];
  return createProgram(runScript, 'run', invocationId, content, values);
}

/** The program that puts a file down. */
export function createFileProgram(
  invocationId: string,
  content: Uint8Array,
  path: { readonly directory: string; readonly name: string },
  file: {
    readonly owner: string;
    readonly group: string;
    readonly mode: string;
    readonly overwrite: boolean;
  },
): GuestProgram {
  const values = [path.directory, path.name, file.owner, file.group, file.mode, String(file.overwrite)];
  return createProgram(putFile, 'put', invocationId, content, values);
}

/** Ends what an invocation left running, and removes its script. Exit code 0 when nothing is left. */
export function createKillRequest(invocationId: string): Pick<ExecRequest, 'command'> {
  return { command: ['/bin/sh', '-c', killLeftovers, `${programName}-kill`, invocationId] };
}
