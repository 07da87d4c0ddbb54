import { defineWalk } from './looks.ts'

defineWalk('light')
