export { type BaseImage, type BaseImageOptions, ensureBaseImage } from './image/baseImage.js';
export { baseImageName } from './image/recipe.js';
export {
  type Engine,
  type PrivateEngine,
  type PrivateEngineOptions,
  startPrivateEngine,
} from './privateEngine.js';
export { SetupError } from './run.js';
export type { OnStep, StepReport } from './steps.js';
