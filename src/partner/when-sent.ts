/**
 * Tells when undici writes a request into its connection. undici's own promise resolves only with the head of the answer, but
 * three things count from here: the wait for that head, the call in the endpoint's budget, and "it may have been received".
 */
import type { Dispatcher } from 'undici';

/** To be composed round a dispatcher, for one request. */
export function whenSent(onSent: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => dispatch(options, new SentHandler(handler, onSent));
}

/** Hands every event on as it is. */
class SentHandler implements Dispatcher.DispatchHandler {
  private readonly handler: Dispatcher.DispatchHandler;
  private readonly onSent: () => void;

  constructor(handler: Dispatcher.DispatchHandler, onSent: () => void) {
    this.handler = handler;
    this.onSent = onSent;
  }

  onRequestStart(...event: Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestStart']>>): void {
    this.onSent();
    this.handler.onRequestStart?.(...event);
  }

  onResponseStart(...event: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>): void {
    this.handler.onResponseStart?.(...event);
  }

  onResponseData(...event: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseData']>>): void {
    this.handler.onResponseData?.(...event);
  }

  onResponseEnd(...event: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseEnd']>>): void {
    this.handler.onResponseEnd?.(...event);
  }

  onResponseError(...event: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseError']>>): void {
    this.handler.onResponseError?.(...event);
  }
}
