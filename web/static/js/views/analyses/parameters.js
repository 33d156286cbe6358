// The parameters of the analyses: what each is called, its unit and its default, as a
// form, in the address and in a request.

import { html, useId } from '../../html.js'
import { check, Checks, selectField } from '../../parts.js'
import { capital } from '../../words.js'

/** @import { Context } from './question.js' */

/**
 * What is said of each parameter, as it was typed.
 *
 * @typedef {Record<string, string>} Draft
 */

/**
 * A parameter of an analysis.
 *
 * @typedef {object} Parameter
 * @property {string} name as the API calls it
 * @property {string} words as the form calls it
 * @property {'number' | 'whole' | 'list' | 'choice' | 'checks' | 'yes'} kind a list is of whole numbers, checks are
 *   several choices
 * @property {number} [min]
 * @property {number} [max]
 * @property {string[][]} [choices] each its value and its words
 * @property {string} [before] the default as the server has it
 * @property {string} [value] what is asked where nothing is said
 * @property {(context: Context | null) => string | 0 | undefined | null} [own] the default that an operator gives
 * @property {string} [hint]
 * @property {boolean} [on] whether a yes is on at first
 * @property {boolean} [more] whether it is behind "More parameters"
 * @property {boolean} [members] whether it says who shares the keys
 * @property {boolean} [local] whether the request says it in another way
 * @property {string | ((draft: Draft) => boolean)} [needs] the parameter that must be said before, or a test
 */

/** @typedef {Partial<Parameter>} More */

/** @type {(name: string, words: string, before: string, more?: More) => Parameter} */
const number = (name, words, before, more) => ({ name, words, kind: 'number', min: 0, before, ...more })
/** @type {typeof number} */
const whole = (name, words, before, more) => ({ name, words, kind: 'whole', min: 1, before, ...more })
/** @type {typeof number} */
const list = (name, words, before, more) => ({ name, words, kind: 'list', before, ...more })
/** @type {(name: string, words: string, before: string, choices: string[][], more?: More) => Parameter} */
const choice = (name, words, before, choices, more) => ({ name, words, kind: 'choice', before, choices, ...more })
/** @type {typeof choice} */
const checks = (name, words, before, choices, more) => ({ name, words, kind: 'checks', before, choices, ...more })
/** @type {(name: string, words: string, more?: More) => Parameter} */
const yes = (name, words, more) => ({ name, words, kind: 'yes', ...more })
/**
 * Parameters behind "More parameters".
 *
 * @param {Parameter[]} of
 */
const advanced = (of) => of.map((p) => ({ ...p, more: true }))

const theta = number('theta_max', 'Tolerance θ_max', '0.08', {
  own: (context) => context?.operator && `${context.operator.theta_max}, as the operator`,
  hint: 'How far a load may be above its fair share: 0.08 is 8 %.',
})
const seed = whole('seed', 'Seed', '0', { min: 0 })
/** @type {(before: string, value?: string) => Parameter} */
const top = (before, value) => whole('top', 'Length of lists', before, { max: 10_000, value })
const methods = [
  ['halving', 'Token halving'],
  ['doubling', 'Token doubling'],
  ['fitted', 'Fitted token counts'],
]
const information = [
  ['global', 'Global: the true loads'],
  ['local', 'Local estimates'],
  ['local_probing', 'Local, with probing'],
]
const orders = [
  ['shuffled', 'Shuffled: exactly these frequencies'],
  ['independent', 'Independent draws'],
]

/** @type {Record<string, Parameter[]>} */
const parameters = {
  ring: [
    whole('nodes', 'Nodes', '4', { max: 65_536, members: true }),
    whole('tokens_per_instance', 'Tokens per node', '16, when doubling 1', {
      max: 16_777_216,
      own: (context) => context?.tokens && 'as they are',
    }),
    choice('method', 'Redistribution', 'halving', methods, { own: (context) => context?.operator?.ring?.method }),
    number('tau', 'τ', '0.2', { hint: 'A node is relieved if its queue exceeds (1 + τ) times the second longest.' }),
    theta,
    whole('max_rounds', 'Rounds for each node', '1', { hint: 'How often a node may be relieved.' }),
    yes('plan', 'Plan a new ring for these loads', { on: true }),
    ...advanced([
      whole('join', 'Nodes that join', '0', { min: 0, max: 1_000, members: true, local: true }),
      list('leave', 'Nodes that leave', 'none', { hint: 'Their numbers, with commas.', members: true, local: true }),
      number('min_queue', 'Least queue that is relieved', '0', { hint: 'In units of cost.' }),
      whole('node_token_limit', 'Most tokens of a node', '256', { hint: 'That fitted counts consider.' }),
      top('100', '100'),
    ]),
  ],
  pkg: [
    whole('workers', 'Workers', '8', { max: 65_536, members: true }),
    checks(
      'schemes',
      'Schemes',
      'key grouping, shuffle grouping, PKG and D-Choices',
      [
        ['hash', 'Key grouping (hash)'],
        ['shuffle', 'Shuffle grouping'],
        ['potc', 'PoTC'],
        ['on_greedy', 'On-Greedy'],
        ['off_greedy', 'Off-Greedy'],
        ['pkg', 'PKG'],
        ['d_choices', 'D-Choices'],
        ['w_choices', 'W-Choices'],
      ],
      { value: 'hash,shuffle,pkg,d_choices' },
    ),
    list('choices', 'Choices d', '2, 3, 4', { value: '2,3,4', hint: 'One or several.' }),
    list('sources', 'Sources S', '1', { hint: 'One or several.' }),
    number('source_skew', 'Skew of the sources', 'in turn', {
      max: 100,
      hint: 'Of a stream: a Zipf exponent by which its messages are spread over the sources.',
    }),
    checks('load_information', 'What sources know of loads', 'global', information),
    whole('probe_period', 'Messages between two probes', 'none', {
      needs: (draft) => (draft.load_information ?? '').includes('local_probing'),
    }),
    ...advanced([
      whole('aggregation_period', 'Messages between two aggregations', 'once, at the end', { min: 0 }),
      yes('distinct', 'Move coinciding candidates apart'),
      choice('order', 'Order of messages made of frequencies', 'shuffled where frequencies are whole', orders),
      whole('messages', 'Messages drawn', 'the sum of the frequencies', {
        max: 268_435_456,
        needs: (draft) => draft.order === 'independent',
      }),
      whole('seeds', 'Seeds by which each run is judged', '1', { max: 1_000 }),
      seed,
      top(''),
    ]),
  ],
  ranges: [
    whole('followers', 'Followers', '8', { max: 65_536, members: true }),
    choice(
      'event',
      'What happens',
      'a first division',
      [
        ['create', 'A first division'],
        ['join', 'A follower joins'],
        ['leave', 'Followers leave in good order'],
        ['crash', 'Followers crash'],
      ],
      { own: (context) => context?.owners && 'drift: the keys are others' },
    ),
    whole('position', 'Followers before the new one', 'all of them', {
      min: 0,
      needs: (draft) => draft.event === 'join',
    }),
    list('event_followers', 'Followers that go', 'the last one', {
      hint: 'Their numbers, with commas.',
      needs: (draft) => draft.event === 'leave' || draft.event === 'crash',
    }),
    theta,
    whole('max_intervals', 'Most intervals of a follower', '32', {
      own: (context) =>
        context?.operator?.ranges?.max_intervals && `${context.operator.ranges.max_intervals}, as the operator`,
      hint: 'Under least movement.',
    }),
    ...advanced([top('1,000', '1000')]),
  ],
  schemes: [
    whole('instances', 'Instances', '8', { max: 65_536, members: true }),
    theta,
    choice(
      'mergeable',
      'Partial results of one key',
      'true',
      [
        ['true', 'can be merged'],
        ['false', 'cannot be merged'],
      ],
      { hint: 'Only what can be merged may be split over instances.' },
    ),
    choice('hash', 'Where keys are before', 'ring', [
      ['ring', 'Hash ring'],
      ['modulo', 'Hash modulo'],
    ]),
    whole('tokens_per_instance', 'Tokens per instance', '128', { max: 65_536 }),
    whole('table_limit', 'Table limit', 'none', { min: 0, hint: 'Entries of the routing table.' }),
    ...advanced([
      whole('max_choices', 'Most choices of PKG', 'as many as instances'),
      whole('sources', 'Sources of PKG', '1'),
      choice('load_information', 'What sources know of loads', 'global', information.slice(0, 2)),
      whole('aggregation_period', 'Messages between two aggregations', 'once, at the end', { min: 0 }),
      whole('max_rounds', 'Rounds for each node of the ring', '8'),
      whole('max_intervals', 'Most intervals of a follower', '32'),
      whole('seeds', 'Seeds by which PKG is judged', '5', { max: 1_000 }),
      seed,
    ]),
  ],
}

/**
 * Whether a parameter is asked for, given the others.
 *
 * @param {Parameter} parameter
 * @param {Draft} draft
 */
const wanted = (parameter, draft) => {
  const { needs } = parameter
  return needs === undefined || (typeof needs === 'function' ? needs(draft) : (draft[needs] ?? '') !== '')
}

/**
 * The texts of an analysis's parameters that a query holds; a query without any has the defaults of the page.
 *
 * @param {string} analysis
 * @param {Query} query
 * @returns {Draft}
 */
export function draftOf(analysis, query) {
  const all = parameters[analysis]
  const fresh = !all.some((p) => p.name in query)
  return Object.fromEntries(all.map((p) => [p.name, query[p.name] ?? (fresh && p.on ? 'true' : '')]))
}

/**
 * What of a draft stands in the address: what is left as it was does not.
 *
 * @param {string} analysis
 * @param {Draft} draft
 */
export function queryOfDraft(analysis, draft) {
  const out = Object.fromEntries(
    parameters[analysis].map((p) => [p.name, wanted(p, draft) && draft[p.name] !== '' ? draft[p.name] : null]),
  )
  const on = parameters[analysis].filter((p) => p.on)
  // Somebody who wants none of what is on by itself has to be told from one who said nothing.
  if (on.length > 0 && on.every((p) => out[p.name] === null)) out[on[0].name] = 'false'
  return out
}

/**
 * The parameters as a request has them, without those that only say who the members are.
 *
 * @param {string} analysis
 * @param {Draft} draft
 */
export function valuesOf(analysis, draft) {
  /** @type {Record<string, any>} */
  const out = {}
  for (const p of parameters[analysis]) {
    const text = wanted(p, draft) ? draft[p.name].trim() || (p.value ?? '') : ''
    if (text === '' || p.local || (p.kind === 'yes' && text === 'false')) continue
    out[p.name] = valueOf(p, text)
  }
  return out
}

/**
 * @param {Parameter} parameter
 * @param {string} text
 */
function valueOf({ kind }, text) {
  if (kind === 'number' || kind === 'whole') return Number(text)
  if (kind === 'list') return text.split(',').map((x) => Number(x))
  if (kind === 'checks') return text.split(',')
  return text === 'true' ? true : text === 'false' ? false : text
}

/**
 * The form's controls. context is what is known of the operator, see question.js.
 *
 * @param {{ analysis: string, draft: Draft, change: (draft: Draft) => void, context: Context | null }} props
 */
export function Parameters({ analysis, draft, change, context }) {
  const shown = parameters[analysis].filter((p) => wanted(p, draft))
  /** @param {Parameter} p */
  const draw = (p) =>
    html`<${Control}
      key=${p.name}
      of=${p}
      value=${draft[p.name]}
      change=${(value) => change({ [p.name]: value })}
      context=${context}
    />`
  const more = shown.filter((p) => p.more)
  const simple = shown.filter((p) => !p.more)
  return html`<fieldset class="analyses-parameters">
    <legend>Parameters</legend>
    <div class="fields">${simple.filter((p) => p.kind !== 'yes' && p.kind !== 'checks').map(draw)}</div>
    ${simple.filter((p) => p.kind === 'checks').map(draw)}
    ${
      simple.some((p) => p.kind === 'yes') &&
      html`<div class="row checks">${simple.filter((p) => p.kind === 'yes').map(draw)}</div>`
    }
    ${
      more.length > 0 &&
      html`<details class="analyses-more" open=${more.some((p) => draft[p.name] !== '')}>
        <summary>More parameters</summary>
        <div class="fields">${more.filter((p) => p.kind !== 'yes').map(draw)}</div>
        <div class="row checks">${more.filter((p) => p.kind === 'yes').map(draw)}</div>
      </details>`
    }
  </fieldset>`
}

/** @param {{ of: Parameter, value: string, change: (value: string) => void, context: Context | null }} props */
function Control({ of: p, value, change, context }) {
  const id = useId()
  const { choices = [] } = p
  if (p.kind === 'yes') return check(value === 'true', (on) => change(on ? 'true' : ''), p.words)
  if (p.kind === 'checks') {
    const chosen = value === '' ? [] : value.split(',')
    return html`<fieldset>
      <legend>${p.words} <span class="hint">${chosen.length === 0 ? `none chosen: ${p.before}` : ''}</span></legend>
      <div class="row checks">
        <${Checks} of=${choices} chosen=${chosen} onChange=${(all) => change(all.join())} />
      </div>
    </fieldset>`
  }
  const own =
    p.own?.(context) ||
    (p.members && !p.local && context?.operator && `${context.operator.instances.length}, as the operator`) ||
    (p.before ?? '')
  if (p.kind === 'choice')
    return selectField(
      p.words,
      value,
      [
        ...(choices.some(([v]) => v === own) ? [] : [['', capital(own)]]),
        ...choices.map(([v, words]) => [v === own ? '' : v, words]),
      ],
      change,
      { hint: p.hint },
    )
  return html`<div class="field">
    <label for=${id}>${p.words}</label>
      <input
          id=${id}
          type=${p.kind === 'list' ? 'text' : 'number'}
          inputmode=${p.kind === 'number' ? 'decimal' : 'numeric'}
          step=${p.kind === 'whole' ? 1 : 'any'}
          min=${p.min}
          max=${p.max}
          pattern=${p.kind === 'list' ? '\\s*[0-9]+(\\s*,\\s*[0-9]+)*\\s*' : undefined}
          title=${p.kind === 'list' ? 'Whole numbers with commas' : undefined}
          value=${value}
          placeholder=${own}
          aria-describedby=${p.hint ? `${id}-hint` : undefined}
          onInput=${(e) => change(e.currentTarget.value)}
        />
    ${p.hint && html`<p class="hint" id="${id}-hint">${p.hint}</p>`}
  </div>`
}
