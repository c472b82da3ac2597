import { describe, expect, it } from 'vitest';
import { mergeProfile } from './configure.js';

const access = {
  endpoint: 'http://127.0.0.1:8585',
  accessKeyId: 'LTAI5tTest',
  accessKeySecret: 'secret',
  regionId: 'cn-hangzhou',
};

describe('a profile of the aliyun command line', () => {
  it('becomes the current one of an empty configuration', () => {
    expect(mergeProfile({}, 'egs', access, false)).toEqual({
      current: 'egs',
      profiles: [
        {
          name: 'egs',
          mode: 'AK',
          access_key_id: 'LTAI5tTest',
          access_key_secret: 'secret',
          region_id: 'cn-hangzhou',
          output_format: 'json',
          language: 'en',
          endpoint: '127.0.0.1:8585',
        },
      ],
    });
  });
  it('leaves other profiles, other settings and the current one as they are', () => {
    const other = { name: 'work', mode: 'StsToken', sts_token: 'x' };
    const merged = mergeProfile(
      { current: 'work', profiles: [other], meta_path: '/m' },
      'egs',
      access,
      false,
    );
    expect(merged).toMatchObject({ current: 'work', meta_path: '/m', profiles: [other, { name: 'egs' }] });
  });
  it('replaces a profile of the same name and keeps what it does not know in it', () => {
    const before = { name: 'egs', access_key_id: 'old', site: 'international' };
    const merged = mergeProfile({ current: 'x', profiles: [before] }, 'egs', access, true);
    expect(merged).toMatchObject({
      current: 'egs',
      profiles: [{ name: 'egs', access_key_id: 'LTAI5tTest', site: 'international' }],
    });
    expect(merged['profiles']).toHaveLength(1);
  });
});
