// Where a scroll bar is, and which pixel of the rows that stands for.

const tallest = 8_000_000 // pixels that every browser lays out and scrolls exactly
const edge = 100_000 // pixels at both ends of a bar in proportion that are one to one

/**
 * The scrolling of rows that are full pixels high in a view of height pixels. Up to the
 * tallest that browsers know, the bar's position is that of the rows. Above, the bar
 * stands for the rows in proportion, but steps shorter than the view, as of a wheel, move
 * the rows by as much; once they end, the bar is put where it belongs: see settled.
 */
export class Track {
  full = 0
  height = 0
  tall = 0
  top = 0
  offset = 0

  /**
   * Takes new sizes; scale is how much higher rows are than before. What was in view stays as far as it can.
   *
   * @param {number} full
   * @param {number} height
   * @param {number} [scale]
   */
  resize(full, height, scale = 1) {
    this.full = full
    this.height = height
    this.tall = Math.min(full, tallest)
    this.go(this.offset * scale)
  }

  /**
   * Brings a pixel of the rows to the top of the view.
   *
   * @param {number} offset
   */
  go(offset) {
    this.offset = this.within(offset)
    this.top = this.settled()
  }

  get exact() {
    return this.full <= tallest
  }

  /** @param {number} offset */
  within(offset) {
    return Math.max(0, Math.min(offset, this.full - this.height))
  }

  /**
   * The bar is at top now.
   *
   * @param {number} top
   */
  moved(top) {
    const by = top - this.top
    this.offset = !this.exact && Math.abs(by) < this.height ? this.within(this.offset + by) : this.offsetOf(top)
    this.top = top
  }

  /** Where the bar belongs. */
  settled() {
    const { most, end } = this.ranges()
    if (this.exact || this.offset <= edge) return this.offset
    if (this.offset >= most - edge) return end - (most - this.offset)
    return edge + ((this.offset - edge) * (end - 2 * edge)) / (most - 2 * edge)
  }

  /** Whether the bar is so near an end that steps would reach it before the rows do. */
  get cornered() {
    const { end } = this.ranges()
    return !this.exact && (this.top < edge / 2 || this.top > end - edge / 2) && Math.abs(this.settled() - this.top) > 1
  }

  /** @param {number} top */
  offsetOf(top) {
    const { most, end } = this.ranges()
    if (this.exact || top <= edge) return this.within(top)
    if (top >= end - edge) return this.within(most - (end - top))
    return this.within(edge + ((top - edge) * (most - 2 * edge)) / (end - 2 * edge))
  }

  /** How far the rows and the bar can go. */
  ranges() {
    return { most: this.full - this.height, end: this.tall - this.height }
  }
}
