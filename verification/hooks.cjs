// @ts-expect-error Dredd provides this module, but only to hook files, which it loads as CommonJS.
const hooks = require('hooks');

hooks.beforeEach(hooks.configuration.custom.prepare);
