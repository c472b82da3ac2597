export { type Diagnosis, diagnose } from './diagnose.js';
export type { Engine } from './engine/engine.js';
export { chooseFlavor, type EngineName } from './engine/flavor.js';
export {
  type CloudEngine,
  type EnsureEngineOptions,
  ensureEngine,
  purgeEngine,
  stopEngine,
} from './ensureEngine.js';
export { type BaseImage, type BaseImageOptions, ensureBaseImage } from './image/baseImage.js';
export { baseImageName } from './image/recipe.js';
export { prepareMachine } from './machine.js';
export { ensurePackages } from './packages.js';
export { type PrivateEngine, type PrivateEngineOptions, startPrivateEngine } from './privateEngine.js';
export { SetupError } from './run.js';
export type { OnStep, StepReport } from './steps.js';
