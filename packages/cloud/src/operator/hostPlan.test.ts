import { describe, expect, it } from 'vitest';
import { parseConfig } from '../config.js';
import { capacityOf, planHosts } from './hostPlan.js';

const localEngine = { socketPath: '/run/engine.socket', project: 'openegs', pool: 'openegs' };
const ids = (config: unknown, kind: 'lxd' | 'fake' = 'fake'): string[] =>
  planHosts(parseConfig(config), kind, localEngine).map((host) => `${host.id} ${host.zoneId}`);

describe('the hosts of a configuration', () => {
  it('are a fake one in each zone when none is named', () => {
    expect(ids({})).toEqual(['fake-1 cn-hangzhou-a', 'fake-2 cn-hangzhou-b']);
  });
  it('are the engine of this machine when none is named for real instances', () => {
    const [host, ...others] = planHosts(parseConfig({}), 'lxd', localEngine);
    expect(others).toEqual([]);
    expect(host?.endpoint.engine).toMatchObject({
      driver: 'lxd',
      socket: '/run/engine.socket',
      pool: 'openegs',
    });
  });
  it('are spread over the zones when they are counted', () => {
    const config = { hosts: [{ id: 'rack', count: 3, engine: { driver: 'fake' } }] };
    expect(ids(config)).toEqual(['rack-1 cn-hangzhou-a', 'rack-2 cn-hangzhou-b', 'rack-3 cn-hangzhou-a']);
  });
  it('are all in the zone that they name', () => {
    const config = { hosts: [{ id: 'rack', count: 2, zone: 'cn-hangzhou-b', engine: { driver: 'fake' } }] };
    expect(ids(config)).toEqual(['rack-1 cn-hangzhou-b', 'rack-2 cn-hangzhou-b']);
  });
  it('cannot be real ones in a cloud on the fake engine', () => {
    const config = { hosts: [{ id: 'real', engine: { driver: 'lxd' } }] };
    expect(() => ids(config)).toThrow(/hosts\.0\.engine\.driver/);
  });
  it('need an engine when no socket is named', () => {
    expect(() => planHosts(parseConfig({}), 'lxd', undefined)).toThrow(/no engine was set up/);
  });
  it('promise what they have times the ratios', () => {
    const resources = { vcpus: 2, memoryMiB: 1000, storageGiB: 10 };
    expect(capacityOf(resources, { cpu: 1.5, memory: 2, disk: 1 })).toEqual({
      cpuMilli: 3000,
      memoryMiB: 2000,
      diskGiB: 10,
    });
  });
});
