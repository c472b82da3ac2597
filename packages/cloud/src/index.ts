export { type CloudConfig, ConfigError, type HostConfig, parseConfig, readConfig } from './config.js';
export { Cloud, type CloudOptions } from './server.js';
