// First, because it exits with an explanation on versions that cannot load the rest.
import './node-version.js';
// Before the compile cache, which creates node_modules if it is missing.
import './dependencies.js';
import './compile-cache.js';
