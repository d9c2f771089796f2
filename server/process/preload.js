// First, because it exits with an explanation on versions that cannot load the rest.
import './node-version.js';
import './compile-cache.js';
