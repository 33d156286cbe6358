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

  /** What a request is made with: see request of api.js. */
  interface RequestOptions {
    query?: Record<string, unknown>
    body?: unknown
    /** That of a body that is no JSON. */
    type?: string
    headers?: Record<string, string>
    /** Sent as If-None-Match. */
    etag?: string | null
    /** Sent as If-Match. */
    match?: string | null
    signal?: AbortSignal
    accept?: string
  }

  /** What the API answers. Its data is that of the JSON; with 204 and 304 there is none. */
  type Answer<T> = { status?: number; data: T; etag?: string | null; headers?: Headers }

  /** The items of a list, and whether there are more. */
  type Items<T> = { items: T[]; more: boolean }

  /** Loads something; etag is that of what is known, if anything is. */
  type Ask<T> = (signal: AbortSignal, etag: string | null) => Promise<Answer<T>>

  type Problem = import('../static/js/api.js').Problem

  /** One of the mistakes in a request: where it is, and what is wrong. */
  type FieldError = { pointer?: string; parameter?: string; line?: number; detail: string }

  /** A resource that a view watches. */
  interface Watched<T> {
    /** It stays what it was while a problem lasts. */
    data: T | null
    etag: string | null
    problem: Problem | null
    loading: boolean
    /** When it was last asked for, in milliseconds. */
    at: number
    /** Asks at once. */
    reload: () => Promise<void> | undefined
    /** Is given what another request has answered. */
    take: (answer: Answer<T>) => void
  }

  /** A request as the page makes it. The body is sent as JSON, but with a type as it is. */
  interface Asked {
    method?: string
    path: string
    query?: Record<string, unknown>
    body?: unknown
    type?: string
  }

  /** The colours that options of charts are made with. */
  type Palette = Record<
    | 'text'
    | 'muted'
    | 'line'
    | 'surface'
    | 'accent'
    | 'before'
    | 'after'
    | 'realised'
    | 'bound'
    | 'good'
    | 'warn'
    | 'bad',
    string
  > & { series: string[] }

  /** What ECharts takes. Its own type knows too little of the charts that are drawn here. */
  type ChartOption = Record<string, any>

  /** A figure with its name. */
  type Stat = { label: string; value: Children; note?: Children; tone?: 'good' | 'warn' | 'bad' | '' }

  /**
   * A column of a small table: its head, what it makes of a row, a class of its cells, as numbers have one ('row' are
   * heads of rows), and the name by which a table is sorted by it.
   */
  type Column<T = any> = [head: Children, of: (row: T) => Children, kind?: string | false, id?: string]

  /** A column by whose values a table can be sorted. A cell is made of the value, or where show is there of the row. */
  interface Sortable<T = any> {
    id: string
    head: string
    of: (row: T) => any
    cell?: (value: any) => Children
    show?: (row: T) => Children
    kind?: string
  }

  /** A column of a table that loads what is scrolled to. */
  interface TableColumn<T = any> {
    id: string
    head: Children
    of: (row: T) => Children
    /** That of a column of a CSS grid. */
    width?: string
    number?: boolean
    /** The order that the column is sorted by at first. */
    sort?: 'asc' | 'desc'
    /** Whether it has no head on narrow screens. */
    bare?: boolean
  }

  type Sorted = { by: string; order: 'asc' | 'desc' }

  /** Rows that are asked for: size of them from the row skip on, and how many there are. */
  type Load<T> = (skip: number, size: number, signal: AbortSignal) => Promise<{ rows: T[]; total: number }>

  /** What the address of a view says after its "?". */
  type Query = Record<string, string | undefined>

  interface Array<T> {
    /** Leaves out what is no value. */
    filter(keep: BooleanConstructor): Exclude<T, false | null | undefined | '' | 0>[]
  }
}
