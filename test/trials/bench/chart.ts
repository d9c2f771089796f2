import * as echarts from 'echarts';
import {
  type Comparison,
  type Figure,
  formatNumber,
  formatSpaces,
  type Results,
} from './report.ts';

const OURS = '#0f766e';
const OTHER = '#cbd5e1';
const INK = '#1e293b';
const FAINT = '#64748b';
const FONT = 'Helvetica, Arial, sans-serif';
const [WIDTH, HEIGHT] = [1080, 680];

/** The parts of a diagram within the chart. Each has axes and a grid with the same index. */
interface Diagram {
  title: object;
  grid: object;
  xAxis: object;
  yAxis: object;
  series: object[];
}

/** Draws the results as SVG: requests per second against the constant route, and latencies against PostgreSQL. */
export function drawChart({ figures, comparisons, spaces, machine }: Results): string {
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: HEIGHT,
  });
  const constant = figures.filter(({ name }) => name.endsWith('against the constant route'));
  const postgres = comparisons.find(({ id }) => id === 'postgres');
  const diagrams = [throughputDiagram(constant, spaces, 0), latencyDiagram(postgres, 1)];
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: [
      ...diagrams.map(({ title }) => title),
      {
        text: machine,
        left: 20,
        top: HEIGHT - 26,
        textStyle: { fontSize: 11, color: FAINT, fontWeight: 'normal', fontFamily: FONT },
      },
    ],
    legend: {
      right: 24,
      top: HEIGHT - 30,
      itemWidth: 12,
      itemHeight: 12,
      itemGap: 36,
      icon: 'roundRect',
      textStyle: { color: INK, fontSize: 12, fontFamily: FONT },
      data: ['this service', 'PostgreSQL ts_rank'],
    },
    grid: diagrams.map(({ grid }) => grid),
    xAxis: diagrams.map(({ xAxis }) => xAxis),
    yAxis: diagrams.map(({ yAxis }) => yAxis),
    series: diagrams.flatMap(({ series }) => series),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function throughputDiagram(figures: readonly Figure[], spaces: number, index: number): Diagram {
  const maxPercent = Math.ceil(Math.max(100, ...figures.map(({ value }) => value)) / 20) * 20;
  return {
    title: heading(
      `Requests per second at ${formatSpaces(spaces)} spaces`,
      'in percent of the same application returning the same bytes from memory',
      20,
    ),
    grid: { left: 180, width: 290, top: 84, height: 300 },
    xAxis: {
      type: 'value',
      gridIndex: index,
      min: 0,
      max: maxPercent,
      splitLine,
      axisLabel: { ...axisLabel, formatter: '{value} %' },
    },
    yAxis: nameAxis(
      figures.map(({ name }) => name.replace(', against the constant route', '')),
      index,
    ),
    series: [
      {
        type: 'bar',
        data: figures.map(({ value }) => value),
        barWidth: 26,
        xAxisIndex: index,
        yAxisIndex: index,
        itemStyle: { color: OURS, borderRadius: [0, 4, 4, 0] },
        showBackground: true,
        backgroundStyle: { color: '#f1f5f9', borderRadius: [0, 4, 4, 0] },
        label: {
          ...valueLabel,
          fontSize: 13,
          formatter: ({ value }: { value: number }) => `${formatNumber(value)} %`,
        },
      },
    ],
  };
}

function latencyDiagram(postgres: Comparison | undefined, index: number): Diagram {
  const rows = postgres?.rows ?? [];
  const milliseconds = (column: 'in process' | 'ts_rank') => {
    const i = postgres?.columns.indexOf(column) ?? -1;
    return rows.map(({ values }) => values[i] as number);
  };
  const [ours, reference] = [milliseconds('in process'), milliseconds('ts_rank')];
  const axisStart = 10 ** Math.floor(Math.log10(Math.min(...ours, ...reference) / 2));
  const bars = {
    type: 'bar',
    xAxisIndex: index,
    yAxisIndex: index,
  };
  const label = {
    ...valueLabel,
    formatter: ({ value }: { value: number }) => formatNumber(value),
  };
  return {
    title: heading(
      'Milliseconds per query, logarithmic',
      'the twenty best, same rows, same machine, one query at a time',
      560,
    ),
    grid: { left: 760, width: 270, top: 84, height: 520 },
    xAxis: {
      type: 'log',
      min: axisStart,
      startValue: axisStart,
      gridIndex: index,
      splitLine,
      axisLabel: { ...axisLabel, formatter: (value: number) => `${value} ms` },
    },
    yAxis: nameAxis(
      rows.map(({ name }) => name),
      index,
    ),
    series: [
      {
        ...bars,
        name: 'this service',
        data: ours,
        barGap: '10%',
        itemStyle: { color: OURS, borderRadius: [0, 3, 3, 0] },
        label,
      },
      {
        ...bars,
        name: 'PostgreSQL ts_rank',
        data: reference,
        itemStyle: { color: OTHER, borderRadius: [0, 3, 3, 0] },
        label: { ...label, color: FAINT },
      },
    ],
  };
}

const axisLabel = { color: FAINT, fontSize: 11, fontFamily: FONT };
const splitLine = { lineStyle: { color: '#eef2f6' } };
const valueLabel = { show: true, position: 'right', color: INK, fontSize: 11, fontFamily: FONT };

function heading(text: string, subtext: string, left: number): object {
  return {
    text,
    subtext,
    left,
    top: 16,
    textStyle: { fontSize: 16, color: INK, fontFamily: FONT },
    subtextStyle: { fontSize: 12, color: FAINT, fontFamily: FONT, lineHeight: 16 },
  };
}

function nameAxis(names: string[], gridIndex: number): object {
  return {
    type: 'category',
    data: names,
    gridIndex,
    inverse: true,
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { color: INK, fontSize: 12, fontFamily: FONT },
  };
}
