import type { ReactNode } from 'react'
import { classes } from './classes.ts'

type BadgeProps = { kind?: 'ok' | 'warn' | 'bad' | 'info' | 'plain' | undefined; children: ReactNode }

/**
 * Fact about an object, never its status.
 *
 * @example <Badge kind="info">canary</Badge>
 */
export const Badge = ({ kind, children }: BadgeProps) => <span className={classes('badge', kind)}>{children}</span>

/**
 * Word that an administrator gave an object.
 *
 * @example <Tag>engineering</Tag>
 */
export const Tag = ({ children }: { children: ReactNode }) => <span className="tag">{children}</span>
