// Plain JavaScript, loaded before the modules that import packages.
import { EX_CONFIG } from './exit-codes.js';

/**
 * Exits with a message if a package is not installed.
 * @param {string} name
 * @param {string} message
 */
export function requirePackage(name, message) {
  try {
    import.meta.resolve(name);
  } catch {
    console.error(message);
    process.exit(EX_CONFIG);
  }
}

requirePackage('fastify', 'The dependencies are not installed. Run: npm ci');
