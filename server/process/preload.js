// The version check comes first: it ends the process on a version that lacks what the rest needs.
import './node-version.js';
import './compile-cache.js';
