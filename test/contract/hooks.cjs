// Dredd loads its hooks as CommonJS and hands them the module "hooks"; what they do is in run.ts.
const hooks = require('hooks');
const { after, before } = globalThis.contractRun;

hooks.beforeEach((transaction, done) => before(transaction).then(() => done(), done));
hooks.afterEach((transaction, done) => {
  after(transaction);
  done();
});
