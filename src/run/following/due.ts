/**
 * What a night follows up: processes that we started or that a push message reported, and the links of other messages. Reasons:
 *   open     started here, not seen to end, and every retry of its message is over (or a message about it has come)
 *   reported a message of the last days is about a process that was not seen to end
 *   linked   a message of the last days links to it, and it was not looked at since that message came
 */
import type { DriftRecord } from '../../core/records.ts';

export type FollowingReason = 'open' | 'reported' | 'linked';

/** A link to be followed, and what its message was about. */
export interface LinkQuestion {
  /** The address, as the message has it. */
  readonly href: string;
  readonly resource: string;
  readonly resourceId: string;
}

export interface ProcessQuestion {
  readonly id: string;
  readonly askedBy: 'status' | 'message';
  /** A link of the message to the same process, to be followed instead of the path in the settings; null for none. */
  readonly href: string | null;
}

export interface Following {
  readonly due: Readonly<Partial<Record<FollowingReason, number>>>;
  /** Of the due ones those that the night's budget leaves out. */
  readonly leftOut: number;
  /** The least; a process whose link leads nowhere takes a second one. */
  readonly calls: number;
  /** Calls that the night may make at the most. */
  readonly callsAllowed: number;
  readonly processes: readonly ProcessQuestion[];
  readonly links: readonly LinkQuestion[];
  /** Of links and ids that no call is made for. */
  readonly drift: readonly DriftRecord[];
}
