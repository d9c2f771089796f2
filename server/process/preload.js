// First, because it exits with an explanation on versions that cannot load the rest.
import './node-version.js';
// Before the compile cache, which would create a folder of packages.
import './dependencies.js';
import './compile-cache.js';
