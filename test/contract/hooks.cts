// Dredd loads hooks as CommonJS, and this module of its name exists nowhere else.
const hooks = require('hooks');

hooks.beforeEach(hooks.configuration.custom.prepare);
