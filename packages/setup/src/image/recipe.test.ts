import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { baseImageRecipe, hashRecipe } from './recipe.js';

it('has a number that changes with every part of it, and only then', async () => {
  const overlayDirectory = await mkdtemp(join(tmpdir(), 'egs-overlay-'));
  onTestFinished(() => rm(overlayDirectory, { recursive: true }));
  await cp(baseImageRecipe.overlayDirectory, overlayDirectory, { recursive: true });
  const recipe = { ...baseImageRecipe, overlayDirectory };
  const hash = await hashRecipe(baseImageRecipe, 1);
  expect(await hashRecipe(recipe, 1)).toBe(hash);
  expect(await hashRecipe(recipe, 2)).not.toBe(hash);
  expect(await hashRecipe({ ...recipe, packages: [...recipe.packages, 'vim'] }, 1)).not.toBe(hash);
  await writeFile(join(overlayDirectory, 'etc/more'), '');
  expect(await hashRecipe(recipe, 1)).not.toBe(hash);
});
