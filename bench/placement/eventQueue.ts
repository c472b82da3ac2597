/** Items by time, the earliest first (a binary heap). */
export class EventQueue<T> {
  readonly #heap: { readonly at: number; readonly item: T }[] = [];

  get nextAt(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  push(at: number, item: T): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push({ at, item });
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#at(parent) <= at) break;
      this.#swap(place, parent);
      place = parent;
    }
  }

  pop(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first?.item;
    heap[0] = last;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const child = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(child) >= last.at) return first.item;
      this.#swap(place, child);
      place = child;
    }
  }

  #at(place: number): number {
    return this.#heap[place]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }
}
