// Dredd loads hook files as CommonJS. It provides the module `hooks` to them only.
const hooks = require('hooks');

hooks.beforeEach(hooks.configuration.custom.prepare);
