import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProgram, freePort } from './program.ts'
import { syslogNg } from './syslog-ng.ts'
import { commandOf, runTool } from './tools.ts'

/** Creates a self-signed certificate, with its key in the same folder. */
export async function certificateIn(folder: string, name = 'localhost'): Promise<string> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'server.key']
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const { status, stderr } = await runTool(
    'openssl',
    ['req', '-x509', ...key, '-days', '2', '-out', 'server.pem', ...names],
    { cwd: folder },
  )
  if (status !== 0) throw new Error(stderr)
  return readFileSync(join(folder, 'server.pem'), 'utf8')
}

/** Each writes every message unchanged, as one line. */
const configurations = {
  rsyslog: (folder: string, port: number) => `
global(workDirectory="${folder}" maxMessageSize="512k" parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriverCAFile="${folder}/server.pem" defaultNetstreamDriverCertFile="${folder}/server.pem"
  defaultNetstreamDriverKeyFile="${folder}/server.key")
main_queue(queue.type="LinkedList" queue.size="50000" queue.filename="main" queue.saveOnShutdown="on")
module(load="imtcp" maxFrameSize="524288" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")
template(name="whole" type="string" string="%rawmsg%\\n")
input(type="imtcp" address="127.0.0.1" port="${port}")
action(type="omfile" file="${folder}/messages" template="whole")
`,
  'syslog-ng': (folder: string, port: number) => `@version: 3.38
options { log-msg-size(524288); keep-hostname(yes); use-dns(no); stats-freq(0); };
source received {
  syslog(transport("tls") ip("127.0.0.1") port(${port}) max-connections(100) log-iw-size(50000)
    flags(store-raw-message)
    tls(key-file("${folder}/server.key") cert-file("${folder}/server.pem") peer-verify(optional-untrusted)));
};
destination written { file("${folder}/messages" template("$RAWMSG\\n")); };
log { source(received); destination(written); flags(flow-control); };
`,
}
export type Receiver = keyof typeof configurations
export const receivers = Object.keys(configurations) as Receiver[]

function programOf(name: Receiver, folder: string) {
  const [conf, pid] = [join(folder, 'conf'), join(folder, 'pid')]
  if (name === 'rsyslog') return { command: commandOf('rsyslog'), args: ['-n', '-f', conf, '-i', pid], env: {} }
  const state = ['-R', join(folder, 'persist'), '-c', join(folder, 'control'), '-p', pid]
  return {
    command: syslogNg.command,
    args: ['-F', '--no-caps', '-f', conf, ...state, '--module-path', syslogNg.modules],
    env: { LD_LIBRARY_PATH: syslogNg.libraries },
  }
}

/** An external syslog server over TLS on its own port. It can be stopped and started again. */
export async function startReceiver(t: { after: (end: () => unknown) => void }, name: Receiver) {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
  const port = await freePort()
  const ca = await certificateIn(folder)
  writeFileSync(join(folder, 'conf'), configurations[name](folder, port))
  writeFileSync(join(folder, 'messages'), '')
  const program = createProgram({
    name,
    ...programOf(name, folder),
    log: join(folder, 'log'),
    answers: () => isOpen(port),
    startsWithinMs: 30_000,
  })
  t.after(async () => {
    await program.stop()
    rmSync(folder, { recursive: true })
  })
  await program.start()
  return {
    ...program,
    name,
    port,
    ca,
    /** Line by line. */
    messages: () => readFileSync(join(folder, 'messages'), 'utf8').split('\n').slice(0, -1),
  }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const answer = (is: boolean) => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', () => answer(true)).once('error', () => answer(false))
  })
