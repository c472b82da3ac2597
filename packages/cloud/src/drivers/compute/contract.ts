import { describe, expect, it, onTestFinished } from 'vitest';
import type { ComputeDriver, ComputeEvent, ExecRequest, InstanceSpec } from './driver.js';

/** What the contract needs of an engine to put a driver of it to the test. */
export interface ComputeContractEngine {
  /** Alias of an image that the engine has. */
  readonly image: string;
  /** The two files of an image that may be imported; a fake engine does not look at them. */
  readonly imageFiles: { readonly metadata: string; readonly rootfs: string };
  connect(): Promise<ComputeDriver>;
  /** Ends the engine as a crash would; its instances live on. */
  kill(): Promise<void>;
  /** Brings it back. */
  start(): Promise<void>;
  /** Makes the guest write until its root disk is full. */
  fillRootDisk(driver: ComputeDriver, name: string): Promise<void>;
  /** Makes the guest hold this much memory. */
  useMemory(driver: ComputeDriver, name: string, memoryMiB: number): Promise<void>;
}

/** What every `ComputeDriver` promises, shown on one engine. `getEngine` is called when a test runs. */
export function describeComputeContract(getEngine: () => ComputeContractEngine): void {
  let counter = 0;

  /** A driver, and a spec of an instance that is removed when the test is over. */
  async function setUp(
    change: Partial<InstanceSpec> = {},
  ): Promise<{ driver: ComputeDriver; spec: InstanceSpec }> {
    const engine = getEngine();
    const driver = await engine.connect();
    counter += 1;
    const name = `i-contract${counter}`;
    const spec: InstanceSpec = {
      name,
      image: engine.image,
      kind: 'container',
      vcpus: 1,
      memoryMiB: 512,
      rootDiskGiB: 1,
      nics: [],
      disks: [],
      seed: { instanceId: name, hostName: `host-${counter}`, authorizedKeys: [] },
      ...change,
    };
    onTestFinished(async () => {
      await driver.deleteInstance(name);
      await driver.close();
    });
    return { driver, spec };
  }

  async function setUpRunning(change: Partial<InstanceSpec> = {}) {
    const { driver, spec } = await setUp(change);
    await driver.createInstance(spec);
    await driver.startInstance(spec.name);
    return { driver, spec, name: spec.name };
  }

  describe('life of an instance', () => {
    it('creates it stopped, starts it, stops it at once, and deletes it', async () => {
      const { driver, spec } = await setUp();
      await driver.createInstance(spec);
      const observed = { name: spec.name, vcpus: 1, memoryMiB: 512, rootDiskGiB: 1 };
      expect(await driver.findInstance(spec.name)).toEqual({ ...observed, status: 'stopped' });
      await driver.startInstance(spec.name);
      expect(await driver.findInstance(spec.name)).toEqual({ ...observed, status: 'running' });
      expect(await driver.listInstances()).toContainEqual({ ...observed, status: 'running' });
      await driver.stopInstance(spec.name);
      expect(await driver.findInstance(spec.name)).toEqual({ ...observed, status: 'stopped' });
      await driver.deleteInstance(spec.name);
      expect(await driver.findInstance(spec.name)).toBeUndefined();
      expect((await driver.listInstances()).map((each) => each.name)).not.toContain(spec.name);
    });

    it('does each step once, however often it is asked', async () => {
      const { driver, spec } = await setUp();
      await driver.createInstance(spec);
      await driver.createInstance({ ...spec, memoryMiB: 1024 });
      expect(await driver.findInstance(spec.name)).toMatchObject({ memoryMiB: 512 });
      await driver.startInstance(spec.name);
      await driver.startInstance(spec.name);
      await driver.updateInstance(spec);
      await driver.stopInstance(spec.name);
      await driver.stopInstance(spec.name, { graceTimeoutMs: 1_000 });
      await driver.deleteInstance(spec.name);
      await driver.deleteInstance(spec.name);
      expect(await driver.findInstance(spec.name)).toBeUndefined();
    });

    it('does each step once when it is asked twice at the same time', async () => {
      const { driver, spec } = await setUp();
      await Promise.all([driver.createInstance(spec), driver.createInstance(spec)]);
      await Promise.all([driver.startInstance(spec.name), driver.startInstance(spec.name)]);
      expect(await driver.findInstance(spec.name)).toMatchObject({ status: 'running' });
      await Promise.all([driver.stopInstance(spec.name), driver.stopInstance(spec.name)]);
      expect(await driver.findInstance(spec.name)).toMatchObject({ status: 'stopped' });
      await Promise.all([driver.deleteInstance(spec.name), driver.deleteInstance(spec.name)]);
      expect(await driver.findInstance(spec.name)).toBeUndefined();
    });

    it('hears a graceful stop that comes right after the start', async () => {
      const { driver, name } = await setUpRunning();
      await driver.stopInstance(name, { graceTimeoutMs: 15_000 });
      expect(await driver.findInstance(name)).toMatchObject({ status: 'stopped' });
    });

    it('kills a guest that does not stop in its time', async () => {
      const { driver, name } = await setUpRunning();
      await driver.stopInstance(name, { graceTimeoutMs: 1 });
      expect(await driver.findInstance(name)).toMatchObject({ status: 'stopped' });
    });

    it('deletes an instance that runs', async () => {
      const { driver, name } = await setUpRunning();
      await driver.deleteInstance(name);
      expect(await driver.findInstance(name)).toBeUndefined();
    });

    it('says not-found for what is not there', async () => {
      const { driver, spec } = await setUp();
      const notFound = { name: 'ComputeError', reason: 'not-found' };
      expect(await driver.findInstance(spec.name)).toBeUndefined();
      await expect(driver.startInstance(spec.name)).rejects.toMatchObject(notFound);
      await expect(driver.stopInstance(spec.name)).rejects.toMatchObject(notFound);
      await expect(driver.updateInstance(spec)).rejects.toMatchObject(notFound);
      await expect(driver.exec(spec.name, { command: ['true'] })).rejects.toMatchObject(notFound);
      await expect(driver.readFile(spec.name, '/etc/hostname')).rejects.toMatchObject(notFound);
      await expect(
        driver.writeFile(spec.name, '/x', Buffer.from(''), { mode: 0o600, userId: 0, groupId: 0 }),
      ).rejects.toMatchObject(notFound);
    });

    it('refuses an image that is not there and a name that the engine cannot use', async () => {
      const { driver, spec } = await setUp();
      const refused = { name: 'ComputeError', reason: 'refused' };
      await expect(driver.createInstance({ ...spec, image: 'no-such-image' })).rejects.toMatchObject(refused);
      await expect(driver.createInstance({ ...spec, name: 'no_underscores' })).rejects.toMatchObject(refused);
      expect(await driver.findInstance(spec.name)).toBeUndefined();
    });
  });

  describe('change of an instance', () => {
    it('changes size and disk while it runs', async () => {
      const { driver, spec, name } = await setUpRunning();
      await driver.updateInstance({ ...spec, vcpus: 2, memoryMiB: 1024, rootDiskGiB: 2 });
      expect(await driver.findInstance(name)).toEqual({
        name,
        status: 'running',
        vcpus: 2,
        memoryMiB: 1024,
        rootDiskGiB: 2,
      });
    });

    it('says in-use for less memory than the guest uses, and keeps the old value', async () => {
      const { driver, spec, name } = await setUpRunning();
      await getEngine().useMemory(driver, name, 200);
      const update = driver.updateInstance({ ...spec, memoryMiB: 64 });
      await expect(update).rejects.toMatchObject({ name: 'ComputeError', reason: 'in-use' });
      expect(await driver.findInstance(name)).toMatchObject({ memoryMiB: 512, status: 'running' });
    });

    it('grows, stops and starts an instance whose guest has filled the root disk', async () => {
      const { driver, spec, name } = await setUpRunning();
      await getEngine().fillRootDisk(driver, name);
      await driver.stopInstance(name);
      await driver.startInstance(name);
      expect(await driver.findInstance(name)).toMatchObject({ status: 'running', rootDiskGiB: 1 });
      await driver.updateInstance({ ...spec, rootDiskGiB: 2 });
      expect(await driver.findInstance(name)).toMatchObject({ status: 'running', rootDiskGiB: 2 });
      await driver.writeFile(name, '/root/room', Buffer.alloc(100_000), {
        mode: 0o600,
        userId: 0,
        groupId: 0,
      });
    });
  });

  describe('volumes', () => {
    const attributes = { mode: 0o640, userId: 0, groupId: 0 };

    /** A running instance, and names of volumes that are removed when the test is over. */
    async function setUpVolumes() {
      const { driver, spec, name } = await setUpRunning();
      const volumes = [1, 2, 3].map((index) => `d-${name.slice(2)}-${index}`);
      onTestFinished(async () => {
        const cleaner = await getEngine().connect();
        await cleaner.deleteInstance(name);
        for (const volume of volumes) await cleaner.deleteVolume(volume);
        await cleaner.close();
      });
      const [first = '', second = '', third = ''] = volumes;
      const plug = (...plugged: string[]): Promise<void> =>
        driver.updateInstance({
          ...spec,
          disks: plugged.map((volume) => ({ volume, path: `/mnt/${volume}` })),
        });
      const write = (volume: string, text: string): Promise<void> =>
        driver.writeFile(name, `/mnt/${volume}/data`, Buffer.from(text), attributes);
      const read = async (volume: string): Promise<string | undefined> => {
        const content = await driver.readFile(name, `/mnt/${volume}/data`);
        return content && Buffer.from(content).toString();
      };
      return { driver, name, first, second, third, plug, write, read };
    }

    it('are created once, listed, made larger but never smaller, and deleted', async () => {
      const { driver, first } = await setUpVolumes();
      await driver.createVolume({ name: first, sizeGiB: 1 });
      await driver.createVolume({ name: first, sizeGiB: 1 });
      expect(await driver.listVolumes()).toContainEqual({ name: first, sizeGiB: 1 });
      await driver.growVolume(first, 2);
      await driver.growVolume(first, 2);
      expect(await driver.listVolumes()).toContainEqual({ name: first, sizeGiB: 2 });
      await expect(driver.growVolume(first, 1)).rejects.toMatchObject({ reason: 'refused' });
      await driver.deleteVolume(first);
      await driver.deleteVolume(first);
      expect((await driver.listVolumes()).map((volume) => volume.name)).not.toContain(first);
      await expect(driver.growVolume(first, 3)).rejects.toMatchObject({ reason: 'not-found' });
      const copy = driver.createVolume({ name: first, sizeGiB: 1, source: `${first}-none` });
      await expect(copy).rejects.toMatchObject({ reason: 'not-found' });
    });

    it('keep what is written over unplugging, a stop, and growth in use', async () => {
      const { driver, name, first, plug, write, read } = await setUpVolumes();
      await driver.createVolume({ name: first, sizeGiB: 1 });
      await plug(first);
      await write(first, 'kept');
      await driver.growVolume(first, 2);
      await expect(driver.deleteVolume(first)).rejects.toMatchObject({ reason: 'in-use' });
      await plug();
      expect(await read(first)).toBeUndefined();
      await plug(first);
      expect(await read(first)).toBe('kept');
      await driver.stopInstance(name);
      await driver.startInstance(name);
      expect(await read(first)).toBe('kept');
      expect((await driver.getVolumeUsage(first)).usedBytes).toBeGreaterThan(0);
      await driver.deleteInstance(name);
      expect((await driver.listVolumes()).map((volume) => volume.name)).toContain(first);
    });

    it('are copied while they are in use, and depend on each other no further', async () => {
      const { driver, first, second, third, plug, write, read } = await setUpVolumes();
      await driver.createVolume({ name: first, sizeGiB: 1 });
      await plug(first);
      await write(first, 'then');
      await driver.createVolume({ name: second, sizeGiB: 1, source: first });
      await write(first, 'now');
      await plug();
      await driver.deleteVolume(first);
      await driver.createVolume({ name: third, sizeGiB: 2, source: second });
      await driver.deleteVolume(second);
      await plug(third);
      expect(await read(third)).toBe('then');
      expect(await driver.listVolumes()).toContainEqual({ name: third, sizeGiB: 2 });
      // In the place of another one, in one step and while the instance runs.
      await driver.createVolume({ name: first, sizeGiB: 1 });
      await plug(first);
      await plug(first, third);
      expect(await read(first)).toBeUndefined();
      expect(await read(third)).toBe('then');
    });
  });

  describe('exec', () => {
    async function run(driver: ComputeDriver, name: string, request: ExecRequest) {
      const output = { stdout: '', stderr: '' };
      const result = await driver.exec(name, {
        ...request,
        onOutput: (stream, chunk) => {
          output[stream] += Buffer.from(chunk).toString();
        },
      });
      return { ...result, ...output };
    }

    it('gives exit code and both streams', async () => {
      const { driver, name } = await setUpRunning();
      const command = ['/bin/sh', '-c', 'echo out; echo err >&2; exit 7'];
      expect(await run(driver, name, { command })).toEqual({ exitCode: 7, stdout: 'out\n', stderr: 'err\n' });
      expect(await run(driver, name, { command: ['true'] })).toMatchObject({ exitCode: 0 });
      expect(await run(driver, name, { command: ['no-such-program'] })).toMatchObject({ exitCode: 127 });
    });

    it('passes arguments as they are, environment, directory, user and standard input', async () => {
      const { driver, name } = await setUpRunning();
      expect(await run(driver, name, { command: ['echo', '$HOME; "x"'] })).toMatchObject({
        stdout: '$HOME; "x"\n',
      });
      const environment = { GREETING: 'good day' };
      expect(await run(driver, name, { command: ['printenv', 'GREETING'], environment })).toMatchObject({
        stdout: 'good day\n',
      });
      expect(await run(driver, name, { command: ['pwd'] })).toMatchObject({ stdout: '/root\n' });
      expect(await run(driver, name, { command: ['pwd'], workingDirectory: '/tmp' })).toMatchObject({
        stdout: '/tmp\n',
      });
      expect(
        await run(driver, name, {
          command: ['id', '-u'],
          workingDirectory: '/',
          userId: 65534,
          groupId: 65534,
        }),
      ).toMatchObject({ stdout: '65534\n' });
      const stdin = Buffer.alloc(300_000, 'a line of standard input\n');
      const { stdout } = await run(driver, name, { command: ['cat'], stdin });
      expect(stdout).toBe(stdin.toString());
    });

    it('hands out output as it arrives', async () => {
      const { driver, name } = await setUpRunning();
      const abort = new AbortController();
      const seen = new Promise<string>((resolve, reject) => {
        driver
          .exec(name, {
            command: ['/bin/sh', '-c', 'echo first; sleep 600'],
            signal: abort.signal,
            onOutput: (_stream, chunk) => resolve(Buffer.from(chunk).toString()),
          })
          .catch(reject);
      });
      expect(await seen).toBe('first\n');
      abort.abort();
    });

    it('kills the program when it is aborted, and gives the reason', async () => {
      const { driver, name } = await setUpRunning();
      const abort = new AbortController();
      const reason = new Error('time is up');
      const running = driver.exec(name, {
        command: ['/bin/sh', '-c', 'echo here; sleep 600'],
        signal: abort.signal,
        onOutput: () => abort.abort(reason),
      });
      await expect(running).rejects.toBe(reason);
      await expect(driver.exec(name, { command: ['true'], signal: abort.signal })).rejects.toBe(reason);
      expect(await run(driver, name, { command: ['echo', 'alive'] })).toMatchObject({ stdout: 'alive\n' });
    });

    it('says in-use when the instance does not run', async () => {
      const { driver, spec } = await setUp();
      await driver.createInstance(spec);
      const running = driver.exec(spec.name, { command: ['true'] });
      await expect(running).rejects.toMatchObject({ name: 'ComputeError', reason: 'in-use' });
    });

    it('fails when the instance is killed meanwhile', async () => {
      const { driver, name } = await setUpRunning();
      let ended: Promise<boolean> | undefined;
      await new Promise<void>((resolve) => {
        ended = driver
          .exec(name, {
            command: ['/bin/sh', '-c', 'echo here; sleep 600'],
            onOutput: () => resolve(),
          })
          .then(
            (result) => result.exitCode !== 0,
            (error: unknown) => error instanceof Error,
          );
      });
      await driver.stopInstance(name);
      expect(await ended).toBe(true);
    });
  });

  describe('files', () => {
    it.each(['running', 'stopped'])('are written and read in a %s instance', async (status) => {
      const { driver, spec } = await setUp();
      await driver.createInstance(spec);
      if (status === 'running') await driver.startInstance(spec.name);
      const content = Buffer.from([0, 1, 2, 255, 10, 13]);
      await driver.writeFile(spec.name, '/root/data', content, { mode: 0o640, userId: 0, groupId: 0 });
      expect(Buffer.from((await driver.readFile(spec.name, '/root/data')) ?? [])).toEqual(content);
      await driver.writeFile(spec.name, '/root/data', Buffer.from('new'), {
        mode: 0o640,
        userId: 0,
        groupId: 0,
      });
      expect(Buffer.from((await driver.readFile(spec.name, '/root/data')) ?? []).toString()).toBe('new');
      expect(await driver.readFile(spec.name, '/root/none')).toBeUndefined();
    });
  });

  describe('images', () => {
    it('are imported under an alias, once, and deleted', async () => {
      const { driver } = await setUp();
      const { image, imageFiles } = getEngine();
      expect(await driver.hasImage('contract-image')).toBe(false);
      await driver.deleteImage('contract-image');
      await driver.importImage(image, imageFiles);
      expect(await driver.hasImage(image)).toBe(true);
    });

    it('are made of an instance, once, hold what was on its root disk, and outlive it', async () => {
      const { driver, spec, name } = await setUpRunning();
      const alias = `m-${name.slice(2)}`;
      const copy = `${name}copy`;
      onTestFinished(async () => {
        const cleaner = await getEngine().connect();
        await cleaner.deleteInstance(copy);
        await cleaner.deleteImage(alias);
        await cleaner.close();
      });
      const attributes = { mode: 0o640, userId: 0, groupId: 0 };
      await driver.writeFile(name, '/root/data', Buffer.from('kept'), attributes);
      await driver.createImage(alias, name);
      await driver.writeFile(name, '/root/data', Buffer.from('later'), attributes);
      await driver.createImage(alias, name);
      expect(await driver.hasImage(alias)).toBe(true);
      await driver.deleteInstance(name);
      await driver.createInstance({ ...spec, name: copy, image: alias });
      await driver.deleteImage(alias);
      await driver.deleteImage(alias);
      expect(await driver.hasImage(alias)).toBe(false);
      await driver.startInstance(copy);
      expect(Buffer.from((await driver.readFile(copy, '/root/data')) ?? []).toString()).toBe('kept');
      await expect(driver.createImage(alias, name)).rejects.toMatchObject({ reason: 'not-found' });
    });
  });

  describe('events', () => {
    it('tell that an instance changed, after a first resync', async () => {
      const { driver, spec } = await setUp();
      const events = collect(driver);
      await events.next((event) => event.type === 'resync');
      const changed = (event: ComputeEvent): boolean =>
        event.type === 'changed' && event.instanceName === spec.name;
      await driver.createInstance(spec);
      await events.next(changed);
      await driver.startInstance(spec.name);
      await events.next(changed);
      await driver.deleteInstance(spec.name);
      await events.next(changed);
    });

    it('go on with a resync after the engine was away, and calls are unavailable meanwhile', async () => {
      const { driver, spec, name } = await setUpRunning();
      const events = collect(driver);
      await events.next((event) => event.type === 'resync');
      await getEngine().kill();
      try {
        const unavailable = { name: 'ComputeError', reason: 'unavailable' };
        await expect(driver.listInstances()).rejects.toMatchObject(unavailable);
        await expect(driver.createInstance(spec)).rejects.toMatchObject(unavailable);
      } finally {
        await getEngine().start();
      }
      await events.next((event) => event.type === 'resync');
      expect(await driver.findInstance(name)).toMatchObject({ status: 'running' });
      await driver.stopInstance(name);
      await events.next((event) => event.type === 'changed' && event.instanceName === name);
    });

    it('end when the watch is closed', async () => {
      const { driver, spec } = await setUp();
      const closed = collect(driver);
      await closed.next((event) => event.type === 'resync');
      closed.close();
      const open = collect(driver);
      await open.next((event) => event.type === 'resync');
      await driver.createInstance(spec);
      await open.next((event) => event.type === 'changed');
      expect(closed.pending()).toEqual([]);
    });
  });

  it('tells what the host has and can', async () => {
    const { driver } = await setUp();
    const resources = await driver.getResources();
    expect(resources.vcpus).toBeGreaterThan(0);
    expect(resources.memoryMiB).toBeGreaterThan(0);
    expect(resources.storageGiB).toBeGreaterThan(0);
    expect(driver.capabilities.instanceKinds).toContain('container');
    expect(driver.capabilities.supportsDiskQuota).toBe(true);
  });
}

/** Keeps the events of a watch until they are asked for. */
function collect(driver: ComputeDriver) {
  let pending: ComputeEvent[] = [];
  let wake = (): void => undefined;
  const watch = driver.watch((event) => {
    pending.push(event);
    wake();
  });
  onTestFinished(() => watch.close());
  return {
    close: () => watch.close(),
    pending: () => pending,
    /** Waits for an event of this kind, and forgets all before it. */
    async next(isWanted: (event: ComputeEvent) => boolean): Promise<void> {
      for (;;) {
        const index = pending.findIndex(isWanted);
        if (index >= 0) {
          pending = pending.slice(index + 1);
          return;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
