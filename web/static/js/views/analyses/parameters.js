// The parameters of the analyses: what each is called, its unit and its default, as a
// form, in the address and in a request.

import { html, useId } from '../../html.js'
import { check, Checks, selectField } from '../../parts.js'
import { capital } from '../../words.js'

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
 * @property {(operator: API['Operator']) => string} [own] the default that an operator gives
 * @property {string} [hint]
 * @property {boolean} [more] whether it is behind "More parameters"
 * @property {boolean} [members] whether it says who shares the keys
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
  own: ({ theta_max }) => `${theta_max}, as the operator`,
  hint: 'How far a load may be above its fair share: 0.08 is 8 %.',
})
const seed = whole('seed', 'Seed', '0', { min: 0 })
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
      whole('top', 'Length of lists', '', { max: 10_000 }),
    ]),
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
 * The texts of an analysis's parameters that a query holds.
 *
 * @param {string} analysis
 * @param {Query} query
 * @returns {Draft}
 */
export const draftOf = (analysis, query) =>
  Object.fromEntries(parameters[analysis].map((p) => [p.name, query[p.name] ?? '']))

/**
 * What of a draft stands in the address: what is left as it was does not.
 *
 * @param {string} analysis
 * @param {Draft} draft
 */
export const queryOfDraft = (analysis, draft) =>
  Object.fromEntries(
    parameters[analysis].map((p) => [p.name, wanted(p, draft) && draft[p.name] !== '' ? draft[p.name] : null]),
  )

/**
 * The parameters as a request has them.
 *
 * @param {string} analysis
 * @param {Draft} draft
 */
export function valuesOf(analysis, draft) {
  /** @type {Record<string, any>} */
  const out = {}
  for (const p of parameters[analysis]) {
    const text = wanted(p, draft) ? draft[p.name].trim() || (p.value ?? '') : ''
    if (text === '') continue
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
 * The form's controls; operator is that of the source.
 *
 * @param {{ analysis: string, draft: Draft, change: (draft: Draft) => void, operator: API['Operator'] | null }} props
 */
export function Parameters({ analysis, draft, change, operator }) {
  const shown = parameters[analysis].filter((p) => wanted(p, draft))
  /** @param {Parameter} p */
  const draw = (p) =>
    html`<${Control}
      key=${p.name}
      of=${p}
      value=${draft[p.name]}
      change=${(value) => change({ [p.name]: value })}
      operator=${operator}
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

/**
 * @param {object} props
 * @param {Parameter} props.of
 * @param {string} props.value
 * @param {(value: string) => void} props.change
 * @param {API['Operator'] | null} props.operator
 */
function Control({ of: p, value, change, operator }) {
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
  const said = operator && (p.own?.(operator) ?? (p.members && `${operator.instances.length}, as the operator`))
  const own = said || (p.before ?? '')
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
