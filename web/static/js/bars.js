// Bars of the last values, without axes.

import { html } from './html.js'
import { isWithin } from './judge.js'

const height = 32
const step = 5
const least = 24 // bars that there is room for, so that few are not wide

/**
 * The last θ, each in the colour of what it is, beside the limit.
 *
 * @param {{ thetas: number[], bound: number, label: string }} props
 */
export function Bars({ thetas, bound, label }) {
  const top = Math.max(bound, ...thetas) * 1.06 || 1
  const room = Math.max(least, thetas.length)
  const y = (/** @type {number} */ theta) => height - Math.max(1, (theta / top) * height)
  return html`<svg
    class="bars"
    role="img"
    aria-label=${label}
    viewBox="0 0 ${room * step} ${height}"
    preserveAspectRatio="none"
  >
    ${thetas.map(
      (theta, i) =>
        html`<rect
          key=${i}
          class=${isWithin(theta, bound) ? '' : 'bad'}
          x=${(room - thetas.length + i) * step}
          y=${y(theta)}
          width=${step - 1}
          height=${height - y(theta)}
        />`,
    )}
    <line class="bound" x1="0" x2=${room * step} y1=${y(bound)} y2=${y(bound)} vector-effect="non-scaling-stroke" />
  </svg>`
}
