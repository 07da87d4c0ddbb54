import { createRequire } from 'node:module'

/** The part of Koffi that is used here. Its packages for one platform have no types. */
type Foreign = { async: (...args: unknown[]) => void }
type Koffi = {
  load: (path: string) => { func: (name: string, result: string, parameters: string[]) => (out: Buffer) => number }
  proto: (result: string, parameters: readonly string[]) => object
  decode: (pointer: bigint, type: object) => Foreign
  view: (pointer: bigint, length: number) => ArrayBuffer
  address: (bytes: Buffer) => bigint
}

/** Index of each function in CK_FUNCTION_LIST, and its parameters (PKCS#11 2.40 §5, §C). */
const functions = {
  C_Initialize: [0, ['void *']],
  C_GetSlotList: [4, ['uint8_t', 'void *', 'void *']],
  C_GetTokenInfo: [6, ['unsigned long', 'void *']],
  C_OpenSession: [12, ['unsigned long', 'unsigned long', 'void *', 'void *', 'void *']],
  C_CloseSession: [13, ['unsigned long']],
  C_Login: [18, ['unsigned long', 'unsigned long', 'void *', 'unsigned long']],
  C_DestroyObject: [22, ['unsigned long', 'unsigned long']],
  C_GetAttributeValue: [24, ['unsigned long', 'unsigned long', 'void *', 'unsigned long']],
  C_SetAttributeValue: [25, ['unsigned long', 'unsigned long', 'void *', 'unsigned long']],
  C_FindObjectsInit: [26, ['unsigned long', 'void *', 'unsigned long']],
  C_FindObjects: [27, ['unsigned long', 'void *', 'unsigned long', 'void *']],
  C_FindObjectsFinal: [28, ['unsigned long']],
  C_SignInit: [42, ['unsigned long', 'void *', 'unsigned long']],
  C_Sign: [43, ['unsigned long', 'void *', 'unsigned long', 'void *', 'void *']],
  C_GenerateKeyPair: [
    59,
    [...['unsigned long', 'void *', 'void *', 'unsigned long'], ...['void *', 'unsigned long', 'void *', 'void *']],
  ],
} as const satisfies Record<string, readonly [number, readonly string[]]>
type FunctionName = keyof typeof functions

/** Size of a pointer and of CK_ULONG on all supported platforms: 64 bits, little-endian. */
export const wordBytes = 8
const functionsInList = 68

/** A function of the library failed; `rv` is its CK_RV. */
export class CryptokiError extends Error {
  readonly rv: number
  constructor(name: FunctionName, rv: number) {
    super(`${name} answers ${returnValues[rv] ?? `0x${rv.toString(16)}`}`)
    this.rv = rv
  }
}

/** Allocates outside of the heap, so that the address stays the same. */
export const memory = (bytes: number): Buffer => Buffer.from(new ArrayBuffer(bytes))

/** CK_ATTRIBUTE or CK_MECHANISM structures in sequence: type, pointer to the value, length. */
type Template = { bytes: Buffer; values: readonly Buffer[] }
type Argument = Buffer | Template | bigint | number | null

/** Keeps the arguments of a call alive until it returns. */
const given = new Set<readonly Argument[]>()
/** Keeps libraries alive: a library whose handle is collected is unloaded, even if pointers into it remain. */
const loaded = new Set<object>()

export type Cryptoki = ReturnType<typeof loadCryptoki>
/**
 * Loads the functions of a PKCS#11 library. Each call runs outside of this thread. Throws if the library cannot be
 * loaded.
 */
export function loadCryptoki(library: string) {
  const koffi = createRequire(import.meta.url)(`@koromix/koffi-${process.platform}-${process.arch}`) as Koffi
  const pointer = memory(wordBytes)
  const handle = koffi.load(library)
  loaded.add(handle)
  const rv = handle.func('C_GetFunctionList', 'unsigned long', ['void *'])(pointer)
  if (rv !== 0) throw new Error(`C_GetFunctionList answers 0x${rv.toString(16)}`)
  // A version of two bytes and padding, then the functions.
  const list = Buffer.from(koffi.view(pointer.readBigUInt64LE(), wordBytes * (1 + functionsInList)))
  const bound = new Map<FunctionName, Foreign>()
  const find = (name: FunctionName): Foreign => {
    const [at, parameters] = functions[name]
    const found =
      bound.get(name) ??
      koffi.decode(list.readBigUInt64LE(wordBytes * (1 + at)), koffi.proto('unsigned long', parameters))
    bound.set(name, found)
    return found
  }

  return {
    /** Throws `CryptokiError` for everything but CKR_OK. */
    call: (name: FunctionName, ...args: readonly Argument[]): Promise<void> =>
      new Promise((resolve, reject) => {
        given.add(args)
        const plain = args.map((arg) => (arg instanceof Object && 'bytes' in arg ? arg.bytes : arg))
        find(name).async(...plain, (error: unknown, rv: number | bigint) => {
          given.delete(args)
          if (error) reject(error)
          else if (Number(rv) === 0) resolve()
          else reject(new CryptokiError(name, Number(rv)))
        })
      }),
    template: (entries: readonly (readonly [type: number, value: Buffer])[]): Template => {
      const bytes = memory(3 * wordBytes * entries.length)
      for (const [i, [type, value]] of entries.entries()) {
        bytes.writeBigUInt64LE(BigInt(type), 3 * wordBytes * i)
        bytes.writeBigUInt64LE(value.length === 0 ? 0n : koffi.address(value), 3 * wordBytes * i + wordBytes)
        bytes.writeBigUInt64LE(BigInt(value.length), 3 * wordBytes * i + 2 * wordBytes)
      }
      return { bytes, values: entries.map(([, value]) => value) }
    },
  }
}

/** Names of the return values that an operator is likely to meet. */
const returnValues: Readonly<Record<number, string>> = {
  2: 'CKR_HOST_MEMORY',
  3: 'CKR_SLOT_ID_INVALID',
  5: 'CKR_GENERAL_ERROR',
  6: 'CKR_FUNCTION_FAILED',
  7: 'CKR_ARGUMENTS_BAD',
  16: 'CKR_ATTRIBUTE_READ_ONLY',
  18: 'CKR_ATTRIBUTE_TYPE_INVALID',
  19: 'CKR_ATTRIBUTE_VALUE_INVALID',
  48: 'CKR_DEVICE_ERROR',
  49: 'CKR_DEVICE_MEMORY',
  50: 'CKR_DEVICE_REMOVED',
  96: 'CKR_KEY_HANDLE_INVALID',
  104: 'CKR_KEY_FUNCTION_NOT_PERMITTED',
  112: 'CKR_MECHANISM_INVALID',
  130: 'CKR_OBJECT_HANDLE_INVALID',
  160: 'CKR_PIN_INCORRECT',
  163: 'CKR_PIN_EXPIRED',
  164: 'CKR_PIN_LOCKED',
  176: 'CKR_SESSION_CLOSED',
  177: 'CKR_SESSION_COUNT',
  179: 'CKR_SESSION_HANDLE_INVALID',
  208: 'CKR_TEMPLATE_INCOMPLETE',
  209: 'CKR_TEMPLATE_INCONSISTENT',
  224: 'CKR_TOKEN_NOT_PRESENT',
  225: 'CKR_TOKEN_NOT_RECOGNIZED',
  226: 'CKR_TOKEN_WRITE_PROTECTED',
  256: 'CKR_USER_ALREADY_LOGGED_IN',
  257: 'CKR_USER_NOT_LOGGED_IN',
  258: 'CKR_USER_PIN_NOT_INITIALIZED',
  400: 'CKR_CRYPTOKI_NOT_INITIALIZED',
}
