import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listAptSources, parseDeb822, parseOneLine } from './aptSources.js';

describe('sources of packages', () => {
  it('are read from lines', () => {
    const text =
      '# deb http://off/ x main\ndeb [arch=amd64 signed-by=/k.gpg] http://mirror/debian bookworm main contrib # why\n';
    expect(parseOneLine(text)).toEqual([
      { uri: 'http://mirror/debian', suite: 'bookworm', components: 'main contrib', signedBy: '/k.gpg' },
    ]);
  });

  it('are read from stanzas, without those that are switched off', () => {
    const text = [
      'Types: deb deb-src\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /k.gpg',
      'Types: deb\nEnabled: no\nURIs: http://off/debian\nSuites: bookworm\nComponents: main',
      'Types: deb-src\nURIs: http://source/debian\nSuites: bookworm\nComponents: main',
    ].join('\n\n');
    expect(parseDeb822(text)).toEqual([
      { uri: 'http://mirror/debian', suite: 'bookworm', components: 'main', signedBy: '/k.gpg' },
      { uri: 'http://mirror/debian', suite: 'bookworm-updates', components: 'main', signedBy: '/k.gpg' },
    ]);
  });

  it('are none on a machine that gets no Debian, so that mmdebstrap takes its own', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'egs-apt-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    await mkdir(join(directory, 'sources.list.d'));
    await writeFile(
      join(directory, 'sources.list.d/other.list'),
      'deb http://example.org/apt bookworm main\n',
    );
    expect(await listAptSources('bookworm', directory)).toEqual([]);
  });
});
