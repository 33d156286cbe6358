// Instances as they are shown: by their names, and the id where one points. Without a name the id stands alone.

import { createContext, html, useContext } from './html.js'
import { visible } from './views/plan/migrations/key.js'

/**
 * What has instances: an operator, or a plan.
 *
 * @typedef {{ instances: { id: number, name?: string }[] }} Having
 */

const most = 32 // characters of a name in a sentence

/** @type {WeakMap<Having['instances'], Map<number, string>>} */
const known = new WeakMap()

/**
 * The names of instances by their ids, as they are shown.
 *
 * @param {Having} of
 */
export function namesOf({ instances }) {
  let names = known.get(instances)
  if (!names) {
    names = new Map()
    for (const { id, name } of instances) if (name) names.set(id, visible(name))
    known.set(instances, names)
  }
  return names
}

/**
 * A text without its middle, as what tells names apart is often at an end.
 *
 * @param {string} text
 * @param {number} length
 */
function shortened(text, length) {
  const all = [...text]
  const half = Math.max(1, Math.floor((length - 1) / 2))
  return all.length <= length ? text : `${all.slice(0, half).join('')}…${all.slice(-half).join('')}`
}

/**
 * An instance in a sentence.
 *
 * @param {Having} of
 * @param {number | null} id
 */
export const named = (of, id) => shortened(namesOf(of).get(id ?? -1) ?? String(id), most)

/**
 * An instance in a chart, whose labels take what is in braces for a style.
 *
 * @param {Having} of
 * @param {number} id
 * @param {number} [length]
 */
export const drawn = (of, id, length = most) =>
  shortened(namesOf(of).get(id) ?? String(id), length)
    .replaceAll('{', '(')
    .replaceAll('}', ')')

/**
 * The instance that a name or an id stands for; undefined where there is none of the name.
 *
 * @param {Having} of
 * @param {string} text
 */
export const idOf = ({ instances }, text) =>
  /^\d{1,10}$/.test(text)
    ? Number(text) < 2 ** 31
      ? Number(text)
      : undefined
    : instances.find(({ name }) => name === text)?.id

/** Where the names of the instances of a page are found. */
export const Named = createContext(/** @type {Having} */ ({ instances: [] }))

/** @param {{ id: number }} props */
export function Instance({ id }) {
  const name = namesOf(useContext(Named)).get(id)
  return name === undefined ? id : html`<bdi class="instance clip" title="${name}: instance ${id}">${name}</bdi>`
}
