import { defineWalk } from './looks.ts'

defineWalk('dark')
