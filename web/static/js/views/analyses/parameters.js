// The parameters of the analyses: what each is called, its unit and its default, as a
// form, in the address and in a request.

import { html, useId } from '../../html.js'
import { Check, Checks, Select } from '../../parts.js'
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

/** @type {Parameter} */
const theta = {
  name: 'theta_max',
  words: 'Tolerance θ_max',
  kind: 'number',
  min: 0,
  before: '0.08',
  own: (context) => context?.operator && `${context.operator.theta_max}, as the operator`,
  hint: 'How far a load may be above its fair share: 0.08 is 8 %.',
}
/** @type {Parameter} */
const seed = { name: 'seed', words: 'Seed', kind: 'whole', min: 0, before: '0', more: true }
/** @type {Omit<Parameter, 'before'>} */
const top = { name: 'top', words: 'Length of lists', kind: 'whole', min: 1, max: 10_000, more: true }
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
    { name: 'nodes', words: 'Nodes', kind: 'whole', min: 1, max: 65_536, before: '4', members: true },
    {
      name: 'tokens_per_instance',
      words: 'Tokens per node',
      kind: 'whole',
      min: 1,
      max: 16_777_216,
      before: '16, when doubling 1',
      own: (context) => context?.tokens && 'as they are',
    },
    {
      name: 'method',
      words: 'Redistribution',
      kind: 'choice',
      choices: methods,
      before: 'halving',
      own: (context) => context?.operator?.ring?.method,
    },
    {
      name: 'tau',
      words: 'τ',
      kind: 'number',
      min: 0,
      before: '0.2',
      hint: 'A node is relieved if its queue exceeds (1 + τ) times the second longest.',
    },
    theta,
    {
      name: 'max_rounds',
      words: 'Rounds for each node',
      kind: 'whole',
      min: 1,
      before: '1',
      hint: 'How often a node may be relieved.',
    },
    { name: 'plan', words: 'Plan a new ring for these loads', kind: 'yes', on: true },
    { name: 'reach', words: 'What a ring can reach at all, and a table instead', kind: 'yes', on: true },
    { name: 'simulate', words: 'Simulate the stream', kind: 'yes' },
    { name: 'paper', words: "Repeat the paper's experiments", kind: 'yes' },
    {
      name: 'join',
      words: 'Nodes that join',
      kind: 'whole',
      min: 0,
      max: 1_000,
      before: '0',
      more: true,
      members: true,
      local: true,
    },
    {
      name: 'leave',
      words: 'Nodes that leave',
      kind: 'list',
      before: 'none',
      hint: 'Their numbers, with commas.',
      more: true,
      members: true,
      local: true,
    },
    {
      name: 'min_queue',
      words: 'Least queue that is relieved',
      kind: 'number',
      min: 0,
      before: '0',
      more: true,
      hint: 'In units of cost.',
    },
    {
      name: 'node_token_limit',
      words: 'Most tokens of a node',
      kind: 'whole',
      min: 1,
      before: '256',
      more: true,
      hint: 'That fitted counts and the reach consider.',
    },
    {
      name: 'table_limit',
      words: 'Table limit',
      kind: 'whole',
      min: 0,
      before: 'none',
      more: true,
      hint: 'Entries of the routing table that is compared.',
    },
    { name: 'mappers', words: 'Mappers', kind: 'whole', min: 1, before: '4', more: true, needs: 'simulate' },
    {
      name: 'messages',
      words: 'Messages simulated',
      kind: 'whole',
      min: 1,
      before: 'the sum of all costs, if it is whole',
      more: true,
      needs: 'simulate',
    },
    {
      name: 'paper_runs',
      words: 'Seeds of each experiment',
      kind: 'whole',
      min: 1,
      max: 1_000,
      before: '101',
      more: true,
      needs: 'paper',
    },
    seed,
    { ...top, before: '100', value: '100' },
  ],
  pkg: [
    { name: 'workers', words: 'Workers', kind: 'whole', min: 1, max: 65_536, before: '8', members: true },
    {
      name: 'schemes',
      words: 'Schemes',
      kind: 'checks',
      before: 'key grouping, shuffle grouping, PKG and D-Choices',
      value: 'hash,shuffle,pkg,d_choices',
      choices: [
        ['hash', 'Key grouping (hash)'],
        ['shuffle', 'Shuffle grouping'],
        ['potc', 'PoTC'],
        ['on_greedy', 'On-Greedy'],
        ['off_greedy', 'Off-Greedy'],
        ['pkg', 'PKG'],
        ['d_choices', 'D-Choices'],
        ['w_choices', 'W-Choices'],
      ],
    },
    { name: 'choices', words: 'Choices d', kind: 'list', before: '2, 3, 4', value: '2,3,4', hint: 'One or several.' },
    {
      name: 'target',
      words: 'Target of the imbalance I(m)/m',
      kind: 'number',
      min: 0,
      max: 1,
      before: 'no advice',
      hint: 'With one, the smallest d that meets it is looked for. 0.001 is 0.1 % of the messages.',
    },
    { name: 'sources', words: 'Sources S', kind: 'list', before: '1', hint: 'One or several.' },
    {
      name: 'source_skew',
      words: 'Skew of the sources',
      kind: 'number',
      min: 0,
      max: 100,
      before: 'in turn',
      hint: 'Of a stream: a Zipf exponent by which its messages are spread over the sources.',
    },
    {
      name: 'load_information',
      words: 'What sources know of loads',
      kind: 'checks',
      before: 'global',
      choices: information,
    },
    {
      name: 'probe_period',
      words: 'Messages between two probes',
      kind: 'whole',
      min: 1,
      before: 'none',
      needs: (draft) => (draft.load_information ?? '').includes('local_probing'),
    },
    {
      name: 'aggregation_period',
      words: 'Messages between two aggregations',
      kind: 'whole',
      min: 0,
      before: 'once, at the end',
      more: true,
    },
    { name: 'distinct', words: 'Move coinciding candidates apart', kind: 'yes', more: true },
    {
      name: 'order',
      words: 'Order of messages made of frequencies',
      kind: 'choice',
      choices: orders,
      before: 'shuffled where frequencies are whole',
      more: true,
    },
    {
      name: 'messages',
      words: 'Messages drawn',
      kind: 'whole',
      min: 1,
      max: 268_435_456,
      before: 'the sum of the frequencies',
      more: true,
      needs: (draft) => draft.order === 'independent',
    },
    {
      name: 'seeds',
      words: 'Seeds by which each run is judged',
      kind: 'whole',
      min: 1,
      max: 1_000,
      before: '1',
      more: true,
    },
    {
      name: 'trials',
      words: 'Trials of each d',
      kind: 'whole',
      min: 1,
      max: 1_000,
      before: '20',
      more: true,
      needs: 'target',
    },
    {
      name: 'max_choices',
      words: 'Most choices to think of',
      kind: 'whole',
      min: 1,
      before: 'twice the workers',
      more: true,
      needs: 'target',
    },
    seed,
    top,
  ],
  ranges: [
    { name: 'followers', words: 'Followers', kind: 'whole', min: 1, max: 65_536, before: '8', members: true },
    {
      name: 'event',
      words: 'What happens',
      kind: 'choice',
      before: 'a first division',
      own: (context) => context?.owners && 'drift: the keys are others',
      choices: [
        ['create', 'A first division'],
        ['join', 'A follower joins'],
        ['leave', 'Followers leave in good order'],
        ['crash', 'Followers crash'],
      ],
    },
    {
      name: 'position',
      words: 'Followers before the new one',
      kind: 'whole',
      min: 0,
      before: 'all of them',
      needs: (draft) => draft.event === 'join',
    },
    {
      name: 'event_followers',
      words: 'Followers that go',
      kind: 'list',
      before: 'the last one',
      hint: 'Their numbers, with commas.',
      needs: (draft) => draft.event === 'leave' || draft.event === 'crash',
    },
    theta,
    {
      name: 'max_intervals',
      words: 'Most intervals of a follower',
      kind: 'whole',
      min: 1,
      before: '32',
      own: (context) =>
        context?.operator?.ranges?.max_intervals && `${context.operator.ranges.max_intervals}, as the operator`,
      hint: 'Under least movement.',
    },
    {
      name: 'sketch_k',
      words: 'k of the sketches',
      kind: 'whole',
      min: 8,
      max: 1_048_576,
      before: 'no sketches: all keys',
      hint: 'With one, the division rests on merged quantile sketches.',
    },
    {
      name: 'sketches',
      words: 'Sketches',
      kind: 'whole',
      min: 1,
      max: 4_096,
      before: 'one of each follower',
      more: true,
      needs: 'sketch_k',
    },
    {
      name: 'confidence',
      words: 'Confidence of their error',
      kind: 'number',
      min: 0,
      max: 1,
      before: '0.99',
      more: true,
      needs: 'sketch_k',
    },
    { name: 'table', words: 'Compare all joins and leaves with the formulas', kind: 'yes', more: true },
    {
      name: 'table_followers',
      words: 'Up to how many followers',
      kind: 'whole',
      min: 1,
      max: 500,
      before: '50',
      more: true,
      needs: 'table',
    },
    seed,
    { ...top, before: '1,000', value: '1000' },
  ],
  schemes: [
    { name: 'instances', words: 'Instances', kind: 'whole', min: 1, max: 65_536, before: '8', members: true },
    theta,
    {
      name: 'mergeable',
      words: 'Partial results of one key',
      kind: 'choice',
      before: 'true',
      choices: [
        ['true', 'can be merged'],
        ['false', 'cannot be merged'],
      ],
      hint: 'Only what can be merged may be split over instances.',
    },
    {
      name: 'hash',
      words: 'Where keys are before',
      kind: 'choice',
      before: 'ring',
      choices: [
        ['ring', 'Hash ring'],
        ['modulo', 'Hash modulo'],
      ],
    },
    { name: 'tokens_per_instance', words: 'Tokens per instance', kind: 'whole', min: 1, max: 65_536, before: '128' },
    {
      name: 'table_limit',
      words: 'Table limit',
      kind: 'whole',
      min: 0,
      before: 'none',
      hint: 'Entries of the routing table.',
    },
    {
      name: 'max_choices',
      words: 'Most choices of PKG',
      kind: 'whole',
      min: 1,
      before: 'as many as instances',
      more: true,
    },
    { name: 'sources', words: 'Sources of PKG', kind: 'whole', min: 1, before: '1', more: true },
    {
      name: 'load_information',
      words: 'What sources know of loads',
      kind: 'choice',
      choices: information.slice(0, 2),
      before: 'global',
      more: true,
    },
    {
      name: 'aggregation_period',
      words: 'Messages between two aggregations',
      kind: 'whole',
      min: 0,
      before: 'once, at the end',
      more: true,
    },
    { name: 'max_rounds', words: 'Rounds for each node of the ring', kind: 'whole', min: 1, before: '8', more: true },
    { name: 'max_intervals', words: 'Most intervals of a follower', kind: 'whole', min: 1, before: '32', more: true },
    {
      name: 'seeds',
      words: 'Seeds by which PKG is judged',
      kind: 'whole',
      min: 1,
      max: 1_000,
      before: '5',
      more: true,
    },
    seed,
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
    <div class="analyses-fields">${simple.filter((p) => p.kind !== 'yes' && p.kind !== 'checks').map(draw)}</div>
    ${simple.filter((p) => p.kind === 'checks').map(draw)}
    ${
      simple.some((p) => p.kind === 'yes') &&
      html`<div class="analyses-kinds">${simple.filter((p) => p.kind === 'yes').map(draw)}</div>`
    }
    ${
      more.length > 0 &&
      html`<details class="analyses-more" open=${more.some((p) => draft[p.name] !== '')}>
        <summary>More parameters</summary>
        <div class="analyses-fields">${more.filter((p) => p.kind !== 'yes').map(draw)}</div>
        <div class="analyses-kinds">${more.filter((p) => p.kind === 'yes').map(draw)}</div>
      </details>`
    }
  </fieldset>`
}

/** @param {{ of: Parameter, value: string, change: (value: string) => void, context: Context | null }} props */
function Control({ of: p, value, change, context }) {
  const id = useId()
  const { choices = [] } = p
  if (p.kind === 'yes')
    return html`<${Check} checked=${value === 'true'} onChange=${(on) => change(on ? 'true' : '')}>
      ${p.words}
    <//>`
  if (p.kind === 'checks') {
    const chosen = value === '' ? [] : value.split(',')
    return html`<fieldset>
      <legend>${p.words} <span class="hint">${chosen.length === 0 ? `none chosen: ${p.before}` : ''}</span></legend>
      <div class="analyses-kinds">
        <${Checks} of=${choices} chosen=${chosen} onChange=${(all) => change(all.join())} />
      </div>
    </fieldset>`
  }
  const own =
    p.own?.(context) ||
    (p.members && !p.local && context?.operator && `${context.operator.instances.length}, as the operator`) ||
    (p.before ?? '')
  const control =
    p.kind === 'choice'
      ? html`<${Select}
          id=${id}
          value=${value}
          options=${[
            ...(choices.some(([v]) => v === own) ? [] : [['', capital(own)]]),
            ...choices.map(([v, words]) => [v === own ? '' : v, words]),
          ]}
          onChange=${change}
        />`
      : html`<input
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
        />`
  return html`<div class="field">
    <label for=${id}>${p.words}</label>
    ${control}
    ${p.hint && html`<p class="hint" id="${id}-hint">${p.hint}</p>`}
  </div>`
}
