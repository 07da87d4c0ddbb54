import { Command, Help, type Option } from 'commander'

/** Commands that report all missing arguments and options at once, and mark required ones in their help. */
export class AskingCommand extends Command {
  override createCommand(name?: string): AskingCommand {
    return new AskingCommand(name)
  }
  missingArgument(): never {
    return this.refuseMissing()
  }
  missingMandatoryOptionValue(): never {
    return this.refuseMissing()
  }
  private refuseMissing(): never {
    const missing = [
      ...this.registeredArguments.filter(({ required }, n) => required && this.args[n] === undefined).map(argumentText),
      ...this.options.filter((option) => isMissing(this, option)).map(({ flags }) => flags),
    ]
    this.error(`error: missing ${missing.join(', ')}`, { code: 'holdfast.missing', exitCode: 1 })
  }
}

const argumentText = (argument: { name: () => string; variadic: boolean }): string =>
  `<${argument.name()}${argument.variadic ? '...' : ''}>`
const isMissing = (command: Command, option: Option): boolean =>
  option.mandatory && command.getOptionValue(option.attributeName()) === undefined

/** Returns the first line of a description, which lists of commands show. The details follow after an empty line. */
export const titleOf = (command: Command): string => command.description().split('\n', 1)[0] ?? ''

/** For `configureHelp`: marks required options in the usage and in the list. */
export const markingHelp: Partial<Help> = {
  subcommandDescription: titleOf,
  commandUsage(command: Command): string {
    const needed = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => ` ${flags}`)
    return Help.prototype.commandUsage.call(this, command).replace(' [options]', `${needed.join('')} [options]`)
  },
  optionDescription(option: Option): string {
    const text = Help.prototype.optionDescription.call(this, option)
    return option.mandatory ? `${text} (required)` : text
  },
}

/** Objects in API errors, such as `{"version": 3}`, with the command line options for them. */
const phrases: readonly (readonly [RegExp, option: string, text: string])[] = [
  [/\bfrom: \{"version": ([^}]+)\}/g, 'to', '--to $1'],
  [/\bwith from: \{"channel": "canary"\}/g, 'supersede', 'with: holdfast policy promote'],
]

/** Rewrites a server's sentence about API fields in terms of the options of the executed command. */
export function inTermsOf(command: Command | undefined, text: string): string {
  // Commands set their source themselves, so `from` means nothing to the user.
  let said = command?.options.some((option) => option.long === '--from') ? text : text.replace(/^from: /, '')
  for (const option of command?.options ?? []) {
    const name = option.attributeName().replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    for (const [pattern, of, instead] of phrases) if (of === name) said = said.replaceAll(pattern, instead)
    if (!option.long) continue
    if (option.isBoolean()) said = said.replaceAll(new RegExp(`\\b${name}: true\\b`, 'g'), option.long)
    said = said.replace(new RegExp(`^${name}(?:_ids?|s)?: `), `${option.long}: `)
  }
  return said
}
