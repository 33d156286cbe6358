// What the browser keeps for the page, for the tab or for good. Where it keeps nothing,
// because the visitor has forbidden it, the page remembers for as long as it is open.

class Store {
  memory = new Map()

  /** open gives the browser's storage, or throws where there is none. */
  constructor(open) {
    this.open = open
  }

  #use(kept, remembered) {
    try {
      return kept(this.open())
    } catch {
      return remembered(this.memory)
    }
  }

  get(key) {
    return this.#use((storage) => storage.getItem(key), (memory) => memory.get(key) ?? null)
  }

  set(key, value) {
    this.#use((storage) => storage.setItem(key, value), (memory) => memory.set(key, value))
  }

  remove(key) {
    this.#use((storage) => storage.removeItem(key), (memory) => memory.delete(key))
  }
}

export const forTab = new Store(() => sessionStorage)
export const forGood = new Store(() => localStorage)
