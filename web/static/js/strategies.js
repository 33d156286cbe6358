// What the server plans with: its strategies, and the parameters that plans may have.

import { amount, count, percent, state } from './format.js'

/** @type {API['StrategyList']} */
let known = { strategies: [], parameters: [], most_trials: 256 }

/**
 * Takes what the server lists; the frame does so before it shows a page.
 *
 * @param {API['StrategyList']} list
 */
export function learn(list) {
  known = list
}

/** The strategies, in the order in which they are listed. */
export const strategies = () => known.strategies

/** How many plans one what-if may ask for. */
export const mostPlans = () => known.most_trials

/** The parameters, in the order in which they are listed. */
export const parameters = () => known.parameters

/**
 * The number of instances, which a what-if varies as it does parameters, though no plan has it as one.
 *
 * @type {API['ParameterInfo'] & { grid: string }}
 */
const instances = {
  name: 'target_instances',
  grid: 'target_instances',
  label: 'Instance count',
  help: 'How many instances there would be: those of the lowest ids stay, new ones are added.',
  type: 'integer',
  range: 'a whole number from 1',
  minimum: 1,
  powers_of_two: false,
  choices: [],
  default: null,
  schemes: ['table'],
  strategies: [],
  first: true,
}

/** The parameters that a what-if varies, each with its name there. */
export const varied = () => [
  ...known.parameters.flatMap((p) => (p.grid === undefined ? [] : [{ ...p, grid: p.grid }])),
  instances,
]

/** @param {string} name */
export const parameter = (name) => known.parameters.find((p) => p.name === name)

/**
 * What a strategy, or the method of a scheme, is called. One that the server does not
 * list is called by its name.
 *
 * @param {string} name
 */
export const strategyTitle = (name) =>
  known.strategies.find((s) => s.name === name)?.title ??
  known.parameters
    .filter((p) => p.name.endsWith('/method'))
    .flatMap((p) => p.choices)
    .find((c) => c.value === name)?.label ??
  name

/**
 * Whether a strategy can plan for an objective.
 *
 * @param {string} strategy
 * @param {string} objective
 */
export const knows = (strategy, objective) =>
  known.strategies.some((s) => s.name === strategy && s.objectives.some((o) => o === objective))

/**
 * Whether a strategy minds a parameter; one that the server does not list may.
 *
 * @param {string} strategy
 * @param {string} name
 */
export const minds = (strategy, name) => known.strategies.find((s) => s.name === strategy)?.reads.includes(name) ?? true

/**
 * What an object has under the name of a parameter: null is none, undefined nothing.
 *
 * @param {object | undefined} of
 * @param {string} name
 * @returns {any}
 */
export const valueIn = (of, name) => name.split('/').reduce((/** @type {any} */ x, part) => x?.[part], of)

/**
 * The value that a plan or an operator has of a parameter; what it does not name is at
 * its default.
 *
 * @param {object | undefined} of
 * @param {API['ParameterInfo']} p
 * @returns {any}
 */
export const valueOf = (of, p) => valueIn(of, p.name) ?? p.default

/**
 * A value in words.
 *
 * @param {API['ParameterInfo']} p
 * @param {any} value
 * @returns {string}
 */
export function textOf(p, value) {
  if (value === null || value === undefined) return p.none ?? ''
  switch (p.type) {
    case 'migration_limit':
      if (value.fraction !== undefined) return percent(value.fraction)
      return value.keys !== undefined ? `${count(value.keys)} keys` : state(value.state)
    case 'choice':
      return p.choices.find((c) => c.value === value)?.label ?? value
    case 'integer':
      return count(value)
    case 'number':
      return p.unit === 'share' ? percent(value) : p.unit === 'state' ? amount(value) : String(value)
  }
  return String(value)
}

/** Letters that stand for themselves, as θ_max and β do, and are not written small in a sentence. */
const symbol = /^(?![A-Z][a-z])/

/**
 * A label within a sentence.
 *
 * @param {string} label
 */
export const lower = (label) => (symbol.test(label) ? label : label[0].toLowerCase() + label.slice(1))

/**
 * So many values of a parameter, in words.
 *
 * @param {number} n
 * @param {API['ParameterInfo']} p
 */
export const many = (n, { label }) => `${n} ${lower(label)}${symbol.test(label) || n === 1 ? '' : 's'}`
