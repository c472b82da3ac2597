import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

/** What the front door counts, in Prometheus' text form at `/metrics`. */
export class WireMetrics {
  readonly registry = new Registry();
  private readonly requests = new Counter({
    name: 'openegs_api_requests_total',
    help: 'API requests by product, action and answer code (OK when it went well).',
    labelNames: ['product', 'action', 'code'],
    registers: [this.registry],
  });
  private readonly durations = new Histogram({
    name: 'openegs_api_request_duration_seconds',
    help: 'Time from the parsed request to its answer.',
    labelNames: ['product', 'action'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [this.registry],
  });
  private readonly notImplemented = new Counter({
    name: 'openegs_api_not_implemented_total',
    help: 'Requests for actions of the API that are not built yet.',
    labelNames: ['product', 'action'],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  countRequest(product: string, action: string, code: string, seconds: number): void {
    this.requests.inc({ product, action, code });
    this.durations.observe({ product, action }, seconds);
  }

  countNotImplemented(product: string, action: string): void {
    this.notImplemented.inc({ product, action });
  }
}
