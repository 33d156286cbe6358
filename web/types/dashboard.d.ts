// Names that the JSDoc of all modules may use; nothing of this is served.

import type { ComponentChildren } from 'preact'
import type { components } from './openapi'

type Schemas = components['schemas']

declare global {
  /** The schemas of the API's contract: API['Operator'] is an operator. */
  type API = Schemas

  /** The parameters that a plan was made with; those that its scheme does not know are not there. */
  type PlanParameters = Pick<Schemas['Parameters'], 'theta_max' | 'deadline'> &
    Partial<Schemas['Parameters'] & Schemas['RingParameters'] & Schemas['RangesParameters'] & Schemas['PkgParameters']>

  /** A plan of any scheme. */
  type Plan = Omit<Schemas['Plan'], 'parameters'> & { parameters: PlanParameters }

  /** A plan of a list: without its instances, its hot keys and its migrations. */
  type PlanSummary = Omit<Schemas['PlanSummary'], 'parameters'> & { parameters: PlanParameters }

  /** A plan, or a result of a what-if, which has no id and no life. */
  type AnyPlan = Pick<Plan, keyof Plan & keyof Schemas['WhatIfResult']> & Partial<Plan>

  /** What a template can hold, and a component be given as children. */
  type Children = ComponentChildren

  /** Types of modules that most modules use. */
  type Watched<T> = import('../static/js/api.js').Resource<T>
  type Items<T> = import('../static/js/api.js').Items<T>
  type Problem = import('../static/js/api.js').Problem
  type Palette = import('../static/js/chart.js').Palette
  type ChartOption = import('../static/js/chart.js').Option
  type Stat = import('../static/js/parts.js').Stat
  type Column<T = any> = import('../static/js/parts.js').Column<T>
  type TableColumn<T = any> = import('../static/js/table.js').TableColumn<T>
  type Sorted = import('../static/js/table.js').Sorted
  type Asked = import('../static/js/shell.js').Asked

  /** What the address of a view says after its "?". */
  type Query = Record<string, string | undefined>

  interface Array<T> {
    /** Leaves out what is no value. */
    filter(keep: BooleanConstructor): Exclude<T, false | null | undefined | '' | 0>[]
  }
}
