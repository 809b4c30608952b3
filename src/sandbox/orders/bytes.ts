/**
 * The orders report's bytes, fast: an item is copied together from parts that were made once (product, placement and
 * status, amounts, end) behind a head in which only digits change. A million items take 0.6 s this way; joining
 * strings took 3 s. What it writes is the text of orderRow (rows.ts); a test holds the two against each other.
 */
import { MAX_QUANTITY, PRICES } from '../catalogue/catalogue.ts';
import { PIECE_ROOM_BYTES, type PieceBuffer } from '../http/pieces.ts';
import type { World } from '../world.ts';
import { orderIdOf, orderItemIdOf } from './items.ts';
import { ITEM_STATES } from './life-cycle.ts';
import type { DayItems } from './orders.ts';
import {
  amountCells,
  cellsText,
  extraCells,
  orderRow,
  placementCells,
  productCells,
  type Row,
  rowText,
} from './rows.ts';

const STATES = ITEM_STATES.length;
const ORDER_DIGITS = 7;
const DAY_DIGITS = 5;
const ZERO = 48;

/** The parts belong to one world; they are made when they are first needed and are the same for all its answers. */
export interface OrderParts {
  readonly world: World;
  readonly products: (Uint8Array | undefined)[];
  /** By placement × STATES + state. */
  readonly placements: (Uint8Array | undefined)[];
  /** By slot × (MAX_QUANTITY + 1) + quantity. */
  readonly amounts: (Uint8Array | undefined)[];
}

const parts = (count: number): (Uint8Array | undefined)[] => new Array(count).fill(undefined);

export function makeOrderParts(world: World): OrderParts {
  return {
    world,
    products: parts(world.catalogue.products.length),
    placements: parts(world.placements.length * STATES),
    amounts: parts(world.catalogue.products.length * PRICES * (MAX_QUANTITY + 1)),
  };
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1');

function productPart({ world, products }: OrderParts, product: number): Uint8Array {
  const { title, productId, chunkName } = world.catalogue.products[product]!;
  products[product] = bytesOf(cellsText(productCells(title, productId, chunkName)));
  return products[product];
}

function placementPart({ world, placements }: OrderParts, index: number, items: DayItems): Uint8Array {
  const cells = placementCells(world.placements[items.placement]!);
  placements[index] = bytesOf(cellsText([...cells, ['status', ITEM_STATES[items.state]!.status]]));
  return placements[index];
}

function amountPart({ amounts }: OrderParts, index: number, items: DayItems): Uint8Array {
  amounts[index] = bytesOf(cellsText(amountCells(items)));
  return amounts[index];
}

/** The end of an item, by its state, with a comma behind. */
function endParts(extras: Row): Uint8Array[] {
  return ITEM_STATES.map(({ statusFinal, approvedForPayment }) => {
    const cells: Row = [['statusFinal', statusFinal], ['approvedForPayment', approvedForPayment], ...extras];
    return bytesOf(`${cellsText(cells).slice(0, -1)}},`);
  });
}

/** The beginning of an item, and where in it the digits of time and ids stand. */
interface Head {
  /** Number of the day on which the items were ordered. */
  readonly day: number;
  readonly bytes: Uint8Array;
  readonly timeAt: number;
  readonly orderAt: number;
  readonly orderItemAt: number;
}

function headOf(items: DayItems): Head {
  const { day, shownDay } = items;
  const place = { day, order: 0, item: 1 };
  const beforeTime = `{"orderDate":"${shownDay}","orderDateTime":"${shownDay} `;
  const beforeOrder = `${beforeTime}00:00:00","orderId":"`;
  const beforeOrderItem = `${beforeOrder}${orderIdOf(place)}","orderItemId":"`;
  return {
    day,
    bytes: bytesOf(`${beforeOrderItem}${orderItemIdOf(place)}",`),
    timeAt: beforeTime.length,
    orderAt: beforeOrder.length + DAY_DIGITS,
    orderItemAt: beforeOrderItem.length + 1 + DAY_DIGITS,
  };
}

function writeTwoDigits(out: Uint8Array, at: number, number: number): void {
  const tens = (number / 10) | 0;
  out[at] = ZERO + tens;
  out[at + 1] = ZERO + number - tens * 10;
}

function writeHead(out: Uint8Array, at: number, head: Head, items: DayItems): void {
  out.set(head.bytes, at);
  const minutes = (items.seconds / 60) | 0;
  const hours = (minutes / 60) | 0;
  const timeAt = at + head.timeAt;
  writeTwoDigits(out, timeAt, hours);
  writeTwoDigits(out, timeAt + 3, minutes - hours * 60);
  writeTwoDigits(out, timeAt + 6, items.seconds - minutes * 60);
  const orderAt = at + head.orderAt;
  const orderItemAt = at + head.orderItemAt;
  let order = items.order;
  for (let i = ORDER_DIGITS - 1; i >= 0; i--) {
    const rest = (order / 10) | 0;
    const digit = ZERO + order - rest * 10;
    out[orderAt + i] = digit;
    out[orderItemAt + i] = digit;
    order = rest;
  }
  out[orderItemAt + ORDER_DIGITS] = ZERO + items.item;
}

/** Writes the items of one day, each with a comma behind, and hands on every piece that is full before the next item. */
export function* writeOrders(from: OrderParts, items: DayItems, out: PieceBuffer): Generator<Buffer> {
  const { world, products, placements, amounts } = from;
  const ends = endParts(extraCells(world, 'orders'));
  // Added fields may be of any length, so items with long ones take the way that looks for room.
  const slow = ends[0]!.length > PIECE_ROOM_BYTES / 2;
  let head = headOf(items);
  while (items.next()) {
    if (out.full) yield out.take();
    if (slow || items.restated !== undefined) {
      out.write(`${rowText(orderRow(world, items))},`);
      continue;
    }
    if (items.day !== head.day) head = headOf(items);
    const { bytes } = out;
    const { product, state, slot, quantity } = items;
    const placementIndex = items.placement * STATES + state;
    const amountIndex = slot * (MAX_QUANTITY + 1) + quantity;
    const productBytes = products[product] ?? productPart(from, product);
    const placementBytes = placements[placementIndex] ?? placementPart(from, placementIndex, items);
    const amountBytes = amounts[amountIndex] ?? amountPart(from, amountIndex, items);
    const endBytes = ends[state]!;
    const productAt = out.at + head.bytes.length;
    const placementAt = productAt + productBytes.length;
    const amountAt = placementAt + placementBytes.length;
    const endAt = amountAt + amountBytes.length;
    writeHead(bytes, out.at, head, items);
    bytes.set(productBytes, productAt);
    bytes.set(placementBytes, placementAt);
    bytes.set(amountBytes, amountAt);
    bytes.set(endBytes, endAt);
    out.at = endAt + endBytes.length;
  }
}
